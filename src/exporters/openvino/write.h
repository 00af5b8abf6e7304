// Writes a module as an OpenVINO IR of version 11: loops become TensorIterator or Loop, branches
// become If, states become ReadValue and Assign. One error lists everything that has no form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "exporters/write_options.h"
#include "ir/module.h"

namespace scanloom::exporters::openvino {

/// Bytes of the .bin, starting at `offset`: those of a tensor, or `packed` if the file stores
/// elements differently from memory.
struct WeightsPiece {
  std::uint64_t offset = 0;
  tensor::Tensor tensor;
  std::string packed;

  /// Valid as long as the piece lives.
  [[nodiscard]] std::string_view bytes() const {
    if (!tensor.defined()) return packed;
    return {static_cast<const char*>(tensor.data()), tensor.bytes()};
  }
};

struct WrittenModel {
  std::string xml;
  std::vector<WeightsPiece> weights;  ///< by ascending offset; gaps are zeros
  std::uint64_t weights_size = 0;
};

/// Errors: unsupported (operators and types without a form, each named once).
[[nodiscard]] Expected<WrittenModel> write_model(const ir::Module& module,
                                                 const WriteOptions& options);

}  // namespace scanloom::exporters::openvino
