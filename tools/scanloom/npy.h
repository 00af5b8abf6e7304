// numpy's files: .npy holds one tensor, .npz (a zip archive of them) several by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <scanloom/value.h>

namespace scanloom::cli {

using NamedView = std::pair<std::string, View>;

/// The bytes of a file. Throws Failure, like all of these.
std::string read_file(const std::string& path);

/// `name` says in errors where the bytes come from. The view owns its memory and may have strides.
View parse_npy(std::string_view bytes, const std::string& name);
View read_npy(const std::string& path);
void write_npy(const std::string& path, const View& tensor);

/// All tensors of an archive, in its order; names without ".npy".
std::vector<NamedView> read_npz(const std::string& path);
void write_npz(const std::string& path, const std::vector<NamedView>& tensors);

}  // namespace scanloom::cli
