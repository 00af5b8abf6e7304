// Weights: the .bin file next to an IR, and the tensors of constants, which are ranges of it.
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
  /// `owner` keeps `bytes` alive; large constants point into them and share ownership.
  Weights(std::shared_ptr<const void> owner, std::string_view bytes, std::string name)
      : owner_(std::move(owner)), bytes_(bytes), name_(std::move(name)), is_there_(true) {}

  /// Returns the value of a Const layer from its element type, sizes, offset and size. The first
  /// two may come from its port instead, as in the examples of the specification. `warned` receives
  /// a warning about that, and about more bytes than the sizes need. Errors name the numbers: no
  /// offset or size, a range outside the file, no file, fewer bytes than the sizes need.
  [[nodiscard]] Expected<tensor::Tensor> constant(const Layer& layer,
                                                  std::vector<std::string>& warned) const;
  /// Returns the errors of constant(), except those about strings, without making a tensor.
  [[nodiscard]] Expected<void> check(const Layer& layer) const;

 private:
  struct Range {
    DType dtype = DType::f32;
    tensor::Shape shape;
    std::uint64_t size = 0;  ///< as given by the layer
    std::string_view bytes;  ///< only those the sizes need
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
