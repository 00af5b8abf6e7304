// The names of the files in a zip archive, of which nothing else is read.
#pragma once

#include <string_view>
#include <vector>

namespace scanloom {

/// Those of its directory, the first hundreds; of an archive that is cut off that of its first
/// file. They point into the bytes, which may hold anything.
std::vector<std::string_view> zip_names(std::string_view bytes);

}  // namespace scanloom
