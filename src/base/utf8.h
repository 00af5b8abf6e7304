// Valid UTF-8 of bounded length, for text that leaves the library: names in models are arbitrary
// bytes of any length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace scanloom {

/// The text with every byte that is not part of a valid UTF-8 sequence replaced by '?'.
std::string to_valid_utf8(std::string_view text);

/// Returns the text; if it is longer than `limit` bytes, its beginning and end with "..." between
/// them, without cutting a sequence. Precondition: limit >= 16.
std::string shortened(std::string_view text, std::size_t limit);

}  // namespace scanloom
