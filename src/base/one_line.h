// Names from models within lines of text: a line feed in a name must not begin a line of its own.
#pragma once

#include <string>
#include <string_view>

namespace scanloom {

/// Returns the text with its control characters replaced by '?'.
std::string one_line(std::string_view text);

}  // namespace scanloom
