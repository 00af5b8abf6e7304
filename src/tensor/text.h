// Literals of text forms, written and read back: quoted strings, names, and the elements of
// tensors, which round-trip bit for bit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <scanloom/dtype.h>

namespace scanloom::tensor::text {

/// Letters, digits, '_' and '.', not beginning with a digit or a dot.
[[nodiscard]] bool is_name(std::string_view text);
[[nodiscard]] bool is_name_char(char c);

/// Appends the text in double quotes; characters that are not printable ASCII become \xNN.
void append_quoted(std::string& out, std::string_view text);
/// The contents of a quoted string, given without its quotes; nullopt for a broken escape.
std::optional<std::string> unquote(std::string_view quoted);

/// Appends the shortest decimal that reads back to the same bits, or the bits as 0x... if there is
/// none (NaN with a payload, element types narrower than 16 bits that are not integers). Not for
/// strings.
void append_element(std::string& out, DType dtype, const std::byte* element);
/// Reads the word as an element of this type; returns whether it is one. Not for strings.
bool read_element(std::string_view word, DType dtype, std::byte* element);

}  // namespace scanloom::tensor::text
