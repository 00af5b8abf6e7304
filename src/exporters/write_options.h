// What every exporter is told besides the module.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace scanloom::exporters {

/// One entry per argument, or result, of the module's graph.
struct WriteOptions {
  std::vector<tensor::Tensor> values;  ///< written as a constant; undefined: an input
  std::vector<std::string> input_names, output_names;
  /// All names of their tensors, for formats where a tensor may have several; fewer entries, or an
  /// empty one: the name alone.
  std::vector<std::vector<std::string>> input_tensors = {}, output_tensors = {};
};

}  // namespace scanloom::exporters
