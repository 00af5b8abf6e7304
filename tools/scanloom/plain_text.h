// Text of models for people. Names, texts and descriptions come from files that may be hostile to
// terminals: what could move the cursor, colour or ring is written as '?'.
#pragma once

#include <string>
#include <string_view>

namespace scanloom::cli {

/// Without any control character: one line remains one.
std::string plain_line(std::string_view text);
/// Line feeds stay.
std::string plain_text(std::string_view text);

}  // namespace scanloom::cli
