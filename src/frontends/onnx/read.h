// Reading ONNX: bytes in, ir::Module out. Opsets 1 to 27; older forms of an operator become its
// newest form, bodies become isolated regions whose captures are explicit.
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
  /// types that contradict their declarations, operator sets older than 1. And those that may mean
  /// more than is known here: newer operator sets and IR versions, unknown attributes.
  bool lenient = false;
  /// Inputs with a default value, an initialiser, that are fed all the same.
  std::vector<std::string> fed_defaults;
  std::int64_t seed = 0;  ///< of the random operators without a seed of their own
  /// Where external data is looked for; read_model_file sets it when it is empty.
  std::string folder;
  std::string name = {};       ///< the file, in quotes, for errors; empty: "the model"
  std::string otherwise = {};  ///< what to say of the file should it hold no model; may be empty
};

/// An input that is an initialiser too, in files since IR version 4, before which all had to be.
struct DefaultInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
};

/// What a model says of itself.
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

/// `owner` keeps `bytes`; large constants of the module point into them and keep it too. Every
/// error goes to `diagnostics`, the first of them (with the number of the others) is also returned.
/// Errors: invalid_model, unsupported, not_found (external data), limit_reached, out_of_memory.
Expected<ir::Module> read_model(std::shared_ptr<const void> owner, std::string_view bytes,
                                const ReadOptions& options, Diagnostics& diagnostics,
                                ModelInfo* info = nullptr);

/// Where external data of the model at `path` is looked for.
std::string folder_of(const std::string& path);

/// read_model for a file, which is mapped. Further errors: not_found, invalid_argument.
Expected<ir::Module> read_model_file(const std::string& path, const ReadOptions& options,
                                     Diagnostics& diagnostics, ModelInfo* info = nullptr);

}  // namespace scanloom::onnx
