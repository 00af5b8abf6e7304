// A module as an ONNX model: loops become Loop, branches If. What has no ONNX form is an error that
// lists it all.
#pragma once

#include <string>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::onnx {

struct WriteOptions {
  /// By argument of the graph: its value, which becomes an initialiser; undefined: an input.
  std::vector<tensor::Tensor> values;
  std::vector<std::string> input_names, output_names;
};

/// A ModelProto of opset 18. Types are the module's. Errors: unsupported (operators without a form,
/// each named once).
[[nodiscard]] Expected<std::string> write_model(const ir::Module& module,
                                                const WriteOptions& options);

}  // namespace scanloom::onnx
