// Reads ONNX: bytes in, ir::Module out. Supports opsets 1 to 27. Older forms of an operator become
// its newest form; bodies become isolated regions with explicit captures.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "ir/module.h"

namespace scanloom::onnx {

struct ReadOptions {
  /// Accepts models that break rules without being ambiguous: body names that shadow outer ones,
  /// types that contradict their declarations, operator sets older than 1. Also accepts models that
  /// may mean more than is known here: newer operator sets and IR versions, unknown attributes.
  bool lenient = false;
  /// Inputs that have a default value (an initialiser) but are fed nevertheless.
  std::vector<std::string> fed_defaults;
  std::int64_t seed = 0;  ///< for random operators without a seed of their own
  /// The folder of external data; read_model_file sets it if empty.
  std::string folder;
  std::string name = {};       ///< the file name, quoted, for errors; if empty, "the model"
  std::string otherwise = {};  ///< what to say about a file that holds no model; may be empty
};

/// An input that is also an initialiser, in files of IR version 4 or newer. Before that, all
/// initialisers had to be inputs.
struct DefaultInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
};

/// The model's metadata.
struct ModelInfo {
  std::int64_t ir_version = 0;
  std::int64_t model_version = 0;
  std::string producer_name, producer_version;
  std::string domain, description;
  std::string graph_name, graph_description;
  std::vector<std::pair<std::string, std::int64_t>> opsets;   ///< domain, version
  std::vector<std::pair<std::string, std::string>> metadata;  ///< metadata_props
  std::vector<DefaultInfo> defaults;
  std::vector<std::string> data_files;  ///< paths of the files with external data
};

/// `owner` keeps `bytes` alive; large constants of the module point into them and share ownership.
/// Every error is added to `diagnostics`; the first one, with the number of the others, is also
/// returned. Errors: invalid_model, unsupported, not_found (external data), limit_reached,
/// out_of_memory.
Expected<ir::Module> read_model(std::shared_ptr<const void> owner, std::string_view bytes,
                                const ReadOptions& options, Diagnostics& diagnostics,
                                ModelInfo* info = nullptr);

/// Returns the folder in which external data of the model at `path` is looked up.
std::string folder_of(const std::string& path);

/// Like read_model(), for a file, which is mapped. Further errors: not_found, invalid_argument.
Expected<ir::Module> read_model_file(const std::string& path, const ReadOptions& options,
                                     Diagnostics& diagnostics, ModelInfo* info = nullptr);

}  // namespace scanloom::onnx
