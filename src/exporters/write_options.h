// Options common to all exporters.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace scanloom::exporters {

/// The lists have one entry per argument or result of the module's graph.
struct WriteOptions {
  std::vector<tensor::Tensor> values;  ///< written as a constant; if undefined, an input
  std::vector<std::string> input_names, output_names;
  /// All names of the tensors, for formats in which a tensor can have several. If an entry is
  /// missing or empty, only the single name is written.
  std::vector<std::vector<std::string>> input_tensors = {}, output_tensors = {};
};

}  // namespace scanloom::exporters
