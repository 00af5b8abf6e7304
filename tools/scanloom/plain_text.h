// Text from models, made safe to print. Names, strings and descriptions come from files that may
// attack the terminal, so control characters are replaced by '?'.
#pragma once

#include <string>
#include <string_view>

namespace scanloom::cli {

/// Replaces all control characters, so that one line stays one line.
std::string plain_line(std::string_view text);
/// Replaces all control characters except line feeds.
std::string plain_text(std::string_view text);

}  // namespace scanloom::cli
