// Reads the file names in a zip archive, and nothing else.
#pragma once

#include <string_view>
#include <vector>

namespace scanloom {

/// Returns the first few hundred names of its directory or, if the archive is truncated, the name
/// of its first file. They point into the bytes, which may be arbitrary.
std::vector<std::string_view> zip_names(std::string_view bytes);

}  // namespace scanloom
