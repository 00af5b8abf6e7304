// Reads OpenVINO IR: XML and weights in, ir::Module out. Supports versions 10 and 11 and operation
// sets 1 to 16. Older versions of an operation become its newest form.
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
  std::int64_t seed = 0;  ///< for random operations without a seed of their own
};

/// Bytes and their owner.
struct WeightsFile {
  std::shared_ptr<const void> owner;
  std::string_view bytes;
  std::string name;  ///< for messages; empty if there is no file
};

/// The IR's metadata.
struct ModelInfo {
  std::string name;
  std::int64_t version = 0;
  /// The tensor names of each input and output, and the layer names of each output: the Result and
  /// the layer that produces it.
  std::vector<std::vector<std::string>> input_names, output_names, output_layers;
  /// By input: sizes that the model declares as intervals.
  std::vector<std::vector<SizeRange>> input_ranges;
};

/// Whether the bytes are an OpenVINO IR rather than an ONNX model.
[[nodiscard]] bool is_openvino(std::string_view bytes);

/// Large constants of the module point into the weights and share their ownership. Inputs are named
/// after their Parameter layers; outputs after the tensors of their Result layers or, if unnamed,
/// after the layers that produce them. Every error is added to `diagnostics`; the first one is also
/// returned. Errors: invalid_model, unsupported, not_found (weights), out_of_memory.
Expected<ir::Module> read_model(std::string_view xml, const WeightsFile& weights,
                                const ReadOptions& options, Diagnostics& diagnostics,
                                ModelInfo* info = nullptr);

}  // namespace scanloom::openvino
