// Recognises files without a model in a supported format by their first bytes: web pages, archives,
// models of other frameworks, data. Called before a model is read, so it must be quick for valid
// models.
#pragma once

#include <string>
#include <string_view>

namespace scanloom {

/// For example "is a zip archive: unpack it"; empty if the format is unknown.
std::string describe_foreign(std::string_view bytes);

/// Describes a folder, which may contain a model.
std::string describe_folder(const std::string& path);

}  // namespace scanloom
