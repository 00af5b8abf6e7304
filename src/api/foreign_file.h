// What a file is that holds no model in a format that is read here, by what its bytes begin with:
// web pages, archives, models of other frameworks, data. Looked at before a model is read, so it
// must be quick to say that the bytes are none of these.
#pragma once

#include <string>
#include <string_view>

namespace scanloom {

/// "is a zip archive: unpack it"; empty: nothing that is known.
std::string describe_foreign(std::string_view bytes);

/// The same for a folder, which may hold a model.
std::string describe_folder(const std::string& path);

}  // namespace scanloom
