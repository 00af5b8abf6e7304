// Names in models are any bytes, and any number of them; what leaves the library as text is valid
// UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scanloom {

/// The text with every byte that is not part of a valid UTF-8 sequence replaced by '?'.
std::string to_valid_utf8(std::string_view text);

/// The text; where it is longer than `limit` bytes its beginning and its end, with "..." between
/// them, cutting through no sequence. Precondition: limit >= 16.
std::string shortened(std::string_view text, std::size_t limit);

}  // namespace scanloom
