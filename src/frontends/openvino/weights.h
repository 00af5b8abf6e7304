// Weights: the .bin beside an IR, of which constants are ranges, and the tensors of constants.
#pragma once

#include <memory>
#include <string_view>

#include "frontends/openvino/document.h"
#include "tensor/tensor.h"

namespace scanloom::openvino {

class Weights {
 public:
  Weights() = default;
  /// `owner` keeps `bytes`; large constants point into them and keep it too.
  Weights(std::shared_ptr<const void> owner, std::string_view bytes, std::string name)
      : owner_(std::move(owner)), bytes_(bytes), name_(std::move(name)), is_there_(true) {}

  /// The value of a Const layer: its element type, sizes, offset and size, of which the first two
  /// may be left to its port. Errors name the numbers: a range outside of the file, no file,
  /// another number of bytes than the sizes need.
  [[nodiscard]] Expected<tensor::Tensor> constant(const Layer& layer) const;

 private:
  [[nodiscard]] Expected<std::string_view> range(std::uint64_t offset, std::uint64_t size) const;

  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
  std::string name_;  // "model.bin", for messages
  bool is_there_ = false;
};

}  // namespace scanloom::openvino
