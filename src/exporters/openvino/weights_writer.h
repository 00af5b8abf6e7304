// The weights of an IR under construction: the offset of each constant in the .bin. Equal constants
// share their bytes.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "exporters/openvino/write.h"

namespace scanloom::exporters::openvino {

class WeightsWriter {
 public:
  struct Range {
    std::uint64_t offset = 0, size = 0;
  };

  /// Copies only elements narrower than a byte, and strings.
  Range place(const tensor::Tensor& tensor);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::vector<WeightsPiece> take() { return std::move(pieces_); }

 private:
  std::vector<WeightsPiece> pieces_;
  std::multimap<std::size_t, std::size_t> by_hash_;  ///< indices of pieces
  std::uint64_t size_ = 0;
};

}  // namespace scanloom::exporters::openvino
