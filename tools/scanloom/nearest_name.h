// Suggestions for misspelled names.
#pragma once

#include <string>
#include <vector>

namespace scanloom::cli {

/// Returns the name with the smallest edit distance to `text`; empty if none is close.
std::string nearest_name(const std::string& text, const std::vector<std::string>& names);

}  // namespace scanloom::cli
