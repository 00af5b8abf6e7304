// What one text form of a module has and another one has not, line by line.
#pragma once

#include <string>
#include <string_view>

namespace scanloom {

/// Lines that `after` lacks with "- " before them, those that it adds with "+ ", below the node
/// whose region they stand in, by its place where it has one. Lines are the same wherever they
/// stand: the texts name every value by its id. Time grows with the length of the texts.
std::string line_changes(std::string_view before, std::string_view after);

}  // namespace scanloom
