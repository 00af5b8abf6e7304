// The names of the files in a zip archive; nothing else of it is read.
#pragma once

#include <string_view>
#include <vector>

namespace scanloom {

/// Returns the first hundreds of names of its directory, or, where the archive is cut off, the name
/// of its first file. They point into the bytes, which may hold anything.
std::vector<std::string_view> zip_names(std::string_view bytes);

}  // namespace scanloom
