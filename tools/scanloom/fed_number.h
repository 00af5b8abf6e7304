// A number written on the command line (--feed n=5) as an element of its input.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <scanloom/session.h>

namespace scanloom::cli {

/// The bytes of an element, starting at index 0.
using ElementBytes = std::array<std::byte, 16>;

/// Whether elements of the type can be given as numbers.
bool is_fed_as_number(DType dtype);

/// Parses an element. Integers are exact, floating-point numbers are rounded to the type, booleans
/// are 0, 1, "true" or "false", complex numbers are written like "1-2j". Returns nullopt if the
/// text is not a number. Throws Failure, which names the input, the text and the range, if the type
/// cannot hold the number. Precondition: is_fed_as_number(input.dtype).
std::optional<ElementBytes> fed_number(const ValueInfo& input, std::string_view text);

}  // namespace scanloom::cli
