// Reading OpenVINO IR: XML and weights in, ir::Module out. Versions 10 and 11, operation sets 1 to
// 16; older versions of an operation become its newest form.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "frontends/openvino/types.h"
#include "ir/module.h"

namespace scanloom::openvino {

struct ReadOptions {
  std::int64_t seed = 0;  ///< of the random operations without a seed of their own
};

/// Bytes and who keeps them.
struct WeightsFile {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
  std::string name;  ///< for messages; empty: there is none
};

/// What an IR says of itself.
struct ModelInfo {
  std::string name;
  std::int64_t version = 0;
  /// The names of the tensors of each input and output, and those of an output's layers: the Result
  /// and the one that makes it.
  std::vector<std::vector<std::string>> input_names, output_names, output_layers;
  /// By input: the sizes that the model declares as intervals.
  std::vector<std::vector<SizeRange>> input_ranges;
};

/// Whether the bytes are an IR rather than a model of ONNX.
[[nodiscard]] bool is_openvino(std::string_view bytes);

/// Large constants of the module point into the weights and keep their owner. Inputs are named as
/// their Parameter layers, outputs as the tensors of their Result layers or, without a name, as
/// what makes them. Every error goes to `diagnostics`, the first of them is also returned. Errors:
/// invalid_model, unsupported, not_found (weights), out_of_memory.
Expected<ir::Module> read_model(std::string_view xml, const WeightsFile& weights,
                                const ReadOptions& options, Diagnostics& diagnostics,
                                ModelInfo* info = nullptr);

}  // namespace scanloom::openvino
