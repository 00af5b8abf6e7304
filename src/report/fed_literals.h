// The elements of small feeds as C++, Python and the command line write them, so that programs can
// feed what was fed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <scanloom/dtype.h>

namespace scanloom::report {

/// Returns the elements in order; booleans are 0 or 1. Empty if there are more than a line holds,
/// if all of them are zero, or if one cannot be written as a number in every language.
std::vector<std::string> fed_literals(DType dtype, const std::byte* data, std::int64_t count);

}  // namespace scanloom::report
