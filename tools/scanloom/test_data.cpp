#include "test_data.h"

#include <algorithm>
#include <filesystem>

#include "failure.h"
#include "value_file.h"

namespace scanloom::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code problem;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, problem))
    paths.push_back(entry.path());
  if (problem) fail(Code::not_found, "cannot read the folder " + folder.string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Reads the files <kind>_0.pb, <kind>_1.pb, ...; names them after the model's values.
std::vector<NamedView> read_tensors(const fs::path& folder, const std::string& kind,
                                    std::span<const ValueInfo> values) {
  std::vector<NamedView> tensors;
  for (std::size_t i = 0;; ++i) {
    const fs::path file = folder / (kind + "_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return tensors;
    if (i >= values.size())
      fail(Code::invalid_argument, file.string() + ": the model has only " +
                                       std::to_string(values.size()) + " " + kind + "s");
    tensors.emplace_back(values[i].name, read_value_file(file.string(), values[i]));
  }
}

DataSet read_archive(const std::string& path, const Session& session) {
  DataSet set;
  set.name = path;
  const auto take = [&](const NamedView& tensor, std::span<const ValueInfo> values,
                        std::vector<NamedView>& taken) {
    const auto& [name, view] = tensor;
    for (const ValueInfo& value : values) {
      if (value.name != name) continue;
      taken.emplace_back(name, as_declared(view, value, path + ":" + name));
      return true;
    }
    return false;
  };
  for (const NamedView& tensor : read_npz(path))
    if (!take(tensor, session.inputs(), set.inputs) &&
        !take(tensor, session.outputs(), set.expected))
      fail(Code::invalid_argument,
           path + ": '" + tensor.first + "' is neither an input nor an output of the model");
  return set;
}

}  // namespace

std::string find_model(const std::string& path) {
  if (!fs::is_directory(path)) return path;
  std::vector<fs::path> models;
  for (const fs::path& entry : entries(path))
    if (entry.extension() == ".onnx") models.push_back(entry);
  for (const fs::path& model : models)
    if (model.filename() == "model.onnx") return model.string();
  if (models.size() != 1)
    fail(Code::not_found, path + " holds " + std::to_string(models.size()) +
                              " .onnx files and none of them is named model.onnx");
  return models[0].string();
}

std::vector<std::string> find_data_sets(const std::string& model_path) {
  const fs::path parent = fs::path(model_path).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  std::vector<std::string> sets;
  for (const fs::path& entry : entries(folder)) {
    const bool is_folder =
        entry.filename().string().starts_with("test_data_set_") && fs::is_directory(entry);
    if (is_folder || entry.extension() == ".npz") sets.push_back(entry.string());
  }
  if (sets.empty())
    throw Failure(
        Error(Code::not_found, "there is nothing to compare in " + folder.string())
            .note("expected folders test_data_set_* or .npz files with inputs and outputs"));
  return sets;
}

DataSet read_data_set(const std::string& path, const Session& session) {
  DataSet set;
  if (path.ends_with(".npz")) {
    set = read_archive(path, session);
  } else {
    if (!fs::exists(path)) fail(Code::not_found, "there is no folder or archive " + path);
    set.name = path;
    set.inputs = read_tensors(path, "input", session.inputs());
    set.expected = read_tensors(path, "output", session.outputs());
  }
  if (set.expected.empty()) fail(Code::invalid_argument, path + ": it holds no expected output");
  return set;
}

}  // namespace scanloom::cli
