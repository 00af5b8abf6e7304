// One number as the user writes it (--feed n=5) as an element of the input that it is for.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include <scanloom/session.h>

namespace scanloom::cli {

/// The bytes of an element, from the first one on.
using ElementBytes = std::array<std::byte, 8>;

/// Integers exactly, reals rounded to the type. nullopt when the text is no number. Throws Failure,
/// naming the input, the text and the range, when the type cannot hold the number.
/// Precondition: is_number(input.dtype).
std::optional<ElementBytes> fed_number(const ValueInfo& input, std::string_view text);

}  // namespace scanloom::cli
