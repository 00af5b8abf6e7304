// The name that a misspelt one was meant to be.
#pragma once

#include <string>
#include <vector>

namespace scanloom::cli {

/// Returns the name that differs least from `text`, by letters added, left out or replaced; empty
/// where none is close.
std::string nearest_name(const std::string& text, const std::vector<std::string>& names);

}  // namespace scanloom::cli
