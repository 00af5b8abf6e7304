// numpy's files: .npy holds one tensor, .npz (a zip archive of .npy files) holds several by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/value.h>

namespace scanloom::cli {

using NamedView = std::pair<std::string, View>;

/// Returns the bytes of a file. All functions here throw Failure on errors.
std::string read_file(const std::string& path);

/// `name` names the source in errors. The view owns its memory and may have strides.
View parse_npy(std::string_view bytes, const std::string& name);
View read_npy(const std::string& path);
void write_npy(const std::string& path, const View& tensor);

/// Returns all tensors of an archive, in its order; names are without ".npy".
std::vector<NamedView> read_npz(const std::string& path);
void write_npz(const std::string& path, const std::vector<NamedView>& tensors);

}  // namespace scanloom::cli
