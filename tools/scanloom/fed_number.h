// One number as the user writes it (--feed n=5) as an element of the input that it is for.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <scanloom/session.h>

namespace scanloom::cli {

/// The bytes of an element, from the first one on.
using ElementBytes = std::array<std::byte, 16>;

/// Whether elements of the type can be written as numbers.
bool is_fed_as_number(DType dtype);

/// Integers exactly, reals rounded to the type, booleans as 0, 1, "true" and "false", complex
/// numbers as "1-2j". nullopt when the text is no number. Throws Failure, naming the input, the
/// text and the range, when the type cannot hold the number.
/// Precondition: is_fed_as_number(input.dtype).
std::optional<ElementBytes> fed_number(const ValueInfo& input, std::string_view text);

}  // namespace scanloom::cli
