// The difference of two text forms of a module, line by line.
#pragma once

#include <string>
#include <string_view>

namespace scanloom {

/// Lines that `after` lacks, prefixed "- ", and lines that it adds, prefixed "+ ", under the node
/// whose region contains them, by its location if it has one. A moved line is unchanged, because
/// the texts number every value by its id. Time grows with the length of the texts.
std::string line_changes(std::string_view before, std::string_view after);

}  // namespace scanloom
