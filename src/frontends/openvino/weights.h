// Weights: the .bin beside an IR, of which constants are ranges, and the tensors of constants.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/openvino/document.h"
#include "tensor/tensor.h"

namespace scanloom::openvino {

class Weights {
 public:
  Weights() = default;
  /// `owner` keeps `bytes`; large constants point into them and keep it too.
  Weights(std::shared_ptr<const void> owner, std::string_view bytes, std::string name)
      : owner_(std::move(owner)), bytes_(bytes), name_(std::move(name)), is_there_(true) {}

  /// Returns the value of a Const layer: its element type, sizes, offset and size, of which the
  /// first two may be left to its port, as in the examples of the specification. That, and more
  /// bytes than the sizes need, is said in `warned`. Errors name the numbers: no offset or size, a
  /// range outside of the file, no file, fewer bytes than the sizes need.
  [[nodiscard]] Expected<tensor::Tensor> constant(const Layer& layer,
                                                  std::vector<std::string>& warned) const;
  /// Returns the errors of constant() except those of strings, and makes no tensor.
  [[nodiscard]] Expected<void> check(const Layer& layer) const;

 private:
  struct Range {
    DType dtype = DType::f32;
    tensor::Shape shape;
    std::uint64_t size = 0;  ///< as the layer says it
    std::string_view bytes;  ///< those that the sizes need
  };
  [[nodiscard]] Expected<Range> find(const Layer& layer) const;
  static std::vector<std::string> warnings(const Layer& layer, const Range& found);
  [[nodiscard]] Expected<std::string_view> range(std::uint64_t offset, std::uint64_t size) const;

  std::shared_ptr<const void> owner_;
  std::string_view bytes_;
  std::string name_;  // "model.bin", for messages
  bool is_there_ = false;
};

}  // namespace scanloom::openvino
