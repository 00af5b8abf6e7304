// BoundOperand: a tensor in its own memory with chosen strides, as a kernel sees it.
#pragma once

#include <cstddef>
#include <vector>

#include "tensor/call.h"

namespace scanloom::ops {

enum class Layout : std::uint8_t {
  contiguous,
  transposed,  ///< the last axis is the outermost in memory
  reversed,    ///< every axis runs backwards
  gapped,      ///< every third element, from an offset on
};
inline constexpr Layout kLayouts[] = {Layout::contiguous, Layout::transposed, Layout::reversed,
                                      Layout::gapped};

/// Not copyable: the operand points into it.
class BoundOperand {
 public:
  /// Filled with the tensor's elements.
  BoundOperand(const tensor::Tensor& tensor, Layout layout);
  /// Filled with a pattern, of which untouched_between() knows.
  BoundOperand(DType dtype, const tensor::Shape& shape, Layout layout);
  BoundOperand(const BoundOperand&) = delete;
  BoundOperand& operator=(const BoundOperand&) = delete;

  [[nodiscard]] tensor::Operand operand();
  /// The elements, made contiguous.
  [[nodiscard]] tensor::Tensor tensor() const;
  /// Whether no byte between the elements was written to.
  [[nodiscard]] bool untouched_between() const;

 private:
  [[nodiscard]] std::vector<std::size_t> element_offsets() const;  // bytes, row-major

  DType dtype_;
  tensor::Shape dims_, strides_;
  std::int64_t offset_ = 0;  // elements
  std::vector<std::byte> storage_;
  std::byte* slot_ = nullptr;
};

}  // namespace scanloom::ops
