// Literals of text forms, as they are written and read: quoted strings, names, and the elements of
// tensors, which come back bit for bit.
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

/// In double quotes; what is not printable ASCII becomes \xNN.
void append_quoted(std::string& out, std::string_view text);
/// The contents of a quoted string, given without its quotes; nullopt for a broken escape.
std::optional<std::string> unquote(std::string_view quoted);

/// The shortest decimal that reads back to the same bits; bits as 0x... where there is none (NaN
/// with a payload, element types narrower than 16 bits that are not integers). Not for strings.
void append_element(std::string& out, DType dtype, const std::byte* element);
/// Whether the word is an element of that type; then its bytes are set. Not for strings.
bool read_element(std::string_view word, DType dtype, std::byte* element);

}  // namespace scanloom::tensor::text
