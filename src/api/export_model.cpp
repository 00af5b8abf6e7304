#include "api/export_model.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "api/output_files.h"
#include "base/utf8.h"
#include "exporters/onnx/write.h"
#include "exporters/openvino/write.h"
#include "expr/lower.h"

namespace scanloom {
namespace {

namespace fs = std::filesystem;

/// A weights file must not belong to another model: if there is no model yet at `path`, an existing
/// weights file does.
Expected<void> check_companion(const std::string& path, const std::string& companion) {
  std::error_code none;
  if (fs::exists(path, none) || !fs::exists(companion, none)) return {};
  Error error =
      fail(Code::invalid_argument,
           "'{}' would be replaced, but there is no '{}' that it belongs to", companion, path);
  error.note("remove it, or choose another name");
  return error;
}

std::string_view bytes_of(const tensor::Tensor& tensor) {
  return {static_cast<const char*>(tensor.stored()), static_cast<std::size_t>(tensor.bytes())};
}

Expected<void> write_onnx(const ir::Module& module, const exporters::WriteOptions& names,
                          const std::string& path, bool external_data) {
  const std::string companion = path + ".data";
  const exporters::onnx::DataFile data{fs::path(companion).filename().string(), external_data};
  SCANLOOM_TRY(const exporters::onnx::WrittenModel model,
               exporters::onnx::write_model(module, names, data));
  if (model.data.empty()) return write_file(path, model.bytes);
  SCANLOOM_CHECK_OK(check_companion(path, companion));
  OutputFiles files;
  SCANLOOM_TRY(OutputFiles::File* const weights, files.add(companion));
  for (const exporters::onnx::DataPiece& piece : model.data) {
    weights->pad_to(piece.offset);
    weights->append(bytes_of(piece.tensor));
  }
  SCANLOOM_TRY(OutputFiles::File* const file, files.add(path));
  file->append(model.bytes);
  return files.commit();
}

Expected<void> write_openvino(const ir::Module& module, const exporters::WriteOptions& names,
                              const std::string& path) {
  const std::string companion = fs::path(path).replace_extension(".bin").string();
  SCANLOOM_TRY(const exporters::openvino::WrittenModel model,
               exporters::openvino::write_model(module, names));
  SCANLOOM_CHECK_OK(check_companion(path, companion));
  OutputFiles files;
  // Written even if empty: OpenVINO requires it.
  SCANLOOM_TRY(OutputFiles::File* const weights, files.add(companion));
  for (const exporters::openvino::WeightsPiece& piece : model.weights) {
    weights->pad_to(piece.offset);
    weights->append(piece.bytes());
  }
  weights->pad_to(model.weights_size);
  SCANLOOM_TRY(OutputFiles::File* const file, files.add(path));
  file->append(model.xml);
  return files.commit();
}

}  // namespace

Expected<Format> format_of(const std::string& path) {
  std::string extension = fs::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (extension == ".onnx") return Format::onnx;
  if (extension == ".xml") return Format::openvino;
  return fail(Code::invalid_argument,
              "'{}' ends in neither .onnx nor .xml; name the file after the format to write", path);
}

exporters::WriteOptions names_of(const ir::Module& module) {
  const ir::Region& top = module.region(module.top());
  exporters::WriteOptions names;
  names.values.resize(top.args.size());
  for (const ir::ValueId arg : top.args)
    names.input_names.push_back(to_valid_utf8(module.value(arg).name));
  for (const std::string& name : module.output_names)
    names.output_names.push_back(to_valid_utf8(name));
  names.output_names.resize(top.yields.size());
  std::vector<bool> is_named(top.yields.size());
  std::vector<bool> is_next(top.yields.size());
  for (const ir::State& state : module.states) {
    if (!state.is_hidden) continue;
    names.input_names[state.input] = state.name;
    names.output_names[state.output] = state.name + " (next)";
    is_next[state.output] = true;
  }
  std::set<std::string> used;
  for (std::string& name : names.input_names) name = expr::distinct(name, used);
  // An output that is also an input may share its name.
  for (std::size_t i = 0; i < top.yields.size(); ++i) {
    const auto arg = std::ranges::find(top.args, top.yields[i]) - top.args.begin();
    is_named[i] = std::cmp_less(arg, top.args.size()) &&
                  names.input_names[static_cast<std::size_t>(arg)] == names.output_names[i];
  }
  // Names that users see come first; names of next states are ours to choose.
  for (const bool next : {false, true})
    for (std::size_t i = 0; i < top.yields.size(); ++i)
      if (is_next[i] == next && !is_named[i])
        names.output_names[i] = expr::distinct(names.output_names[i], used);
  return names;
}

Expected<void> export_model(const ir::Module& module, const exporters::WriteOptions& names,
                            const std::string& path, Format format, const ConvertOptions& options) {
  switch (format) {
    case Format::onnx:
      return write_onnx(module, names, path, options.external_data);
    case Format::openvino:
      return write_openvino(module, names, path);
  }
  return {};
}

}  // namespace scanloom
