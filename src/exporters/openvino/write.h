// A module as an OpenVINO IR of version 11: loops become TensorIterator or Loop, branches If,
// states ReadValue and Assign. What has no form there is an error that lists it all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/expected.h"
#include "exporters/write_options.h"
#include "ir/module.h"

namespace scanloom::openvino {

/// Bytes of the .bin from `offset` on: those of a tensor, or `packed` where elements are stored in
/// another way than tensors keep them.
struct WeightsPiece {
  std::uint64_t offset = 0;
  tensor::Tensor tensor;
  std::string packed;
};

struct WrittenModel {
  std::string xml;
  std::vector<WeightsPiece> weights;  ///< by ascending offset; gaps are zeros
  std::uint64_t weights_size = 0;
};

/// Errors: unsupported (operators without a form, each named once).
[[nodiscard]] Expected<WrittenModel> write_model(const ir::Module& module,
                                                 const exporters::WriteOptions& options);

}  // namespace scanloom::openvino
