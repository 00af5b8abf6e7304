// Recognises files that hold no model in a supported format by their first bytes: web pages,
// archives, models of other frameworks, data. Called before a model is read, so it must be quick
// for bytes that are none of these.
#pragma once

#include <string>
#include <string_view>

namespace scanloom {

/// "is a zip archive: unpack it"; empty: nothing that is known.
std::string describe_foreign(std::string_view bytes);

/// The same for a folder, which may hold a model.
std::string describe_folder(const std::string& path);

}  // namespace scanloom
