// Names in models are any bytes; what leaves the library as text is valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace scanloom {

/// The text with every byte that is not part of a valid UTF-8 sequence replaced by '?'.
std::string to_valid_utf8(std::string_view text);

}  // namespace scanloom
