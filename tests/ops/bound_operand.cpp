#include "tests/ops/bound_operand.h"

#include <algorithm>
#include <cstring>

namespace scanloom::ops {
namespace {

constexpr std::byte kPattern{0xa5};
constexpr std::int64_t kGap = 3;
constexpr std::int64_t kGapOffset = 2;

tensor::Shape strides_of(const tensor::Shape& dims, Layout layout) {
  tensor::Shape strides = tensor::contiguous_strides(dims);
  if (layout == Layout::transposed) {
    std::int64_t next = 1;
    for (int axis = 0; axis < dims.rank(); ++axis) {
      strides[axis] = next;
      next *= std::max<std::int64_t>(dims[axis], 1);
    }
  }
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if (layout == Layout::reversed) strides[axis] = -strides[axis];
    if (layout == Layout::gapped) strides[axis] *= kGap;
  }
  return strides;
}

}  // namespace

BoundOperand::BoundOperand(DType dtype, const tensor::Shape& shape, Layout layout)
    : dtype_(dtype), dims_(shape), strides_(strides_of(shape, layout)) {
  const std::int64_t count = shape.elements();
  if (layout == Layout::reversed) offset_ = std::max<std::int64_t>(count - 1, 0);
  if (layout == Layout::gapped) offset_ = kGapOffset;
  const std::int64_t spread = layout == Layout::gapped ? kGap : 1;
  // Whole elements of the widest type, as real storage is padded too.
  const auto elements = static_cast<std::size_t>(count * spread + kGapOffset + 4);
  storage_.assign(elements * dtype_bytes(dtype), kPattern);
  slot_ = storage_.data();
}

BoundOperand::BoundOperand(const tensor::Tensor& tensor, Layout layout)
    : BoundOperand(tensor.dtype(), tensor.shape(), layout) {
  const auto* from = static_cast<const std::byte*>(tensor.data());
  const std::size_t bytes = dtype_bytes(dtype_);
  for (const std::size_t offset : element_offsets()) {
    std::memcpy(storage_.data() + offset, from, bytes);
    from += bytes;
  }
}

tensor::Operand BoundOperand::operand() {
  const auto bytes = static_cast<std::int64_t>(dtype_bytes(dtype_));
  return {.slot = &slot_,
          .offset = offset_ * bytes,
          .dims = dims_.data(),
          .strides = strides_.data(),
          .rank = dims_.rank(),
          .dtype = dtype_,
          .contiguous = tensor::is_contiguous(dims_.dims(), strides_.dims())};
}

tensor::Tensor BoundOperand::tensor() const {
  tensor::Tensor result = tensor::Tensor::zeros(dtype_, dims_).value_or_throw();
  auto* to = static_cast<std::byte*>(result.mutable_data());
  const std::size_t bytes = dtype_bytes(dtype_);
  for (const std::size_t offset : element_offsets()) {
    std::memcpy(to, storage_.data() + offset, bytes);
    to += bytes;
  }
  return result;
}

bool BoundOperand::untouched_between() const {
  std::vector<std::byte> rest = storage_;
  for (const std::size_t offset : element_offsets())
    std::fill_n(rest.begin() + static_cast<std::ptrdiff_t>(offset), dtype_bytes(dtype_), kPattern);
  return std::ranges::all_of(rest, [](std::byte byte) { return byte == kPattern; });
}

std::vector<std::size_t> BoundOperand::element_offsets() const {
  std::vector<std::size_t> offsets;
  const std::int64_t count = dims_.elements();
  for (std::int64_t element = 0; element < count; ++element) {
    std::int64_t rest = element, at = offset_;
    for (int axis = dims_.rank() - 1; axis >= 0; --axis) {
      at += rest % dims_[axis] * strides_[axis];
      rest /= dims_[axis];
    }
    offsets.push_back(static_cast<std::size_t>(at) * dtype_bytes(dtype_));
  }
  return offsets;
}

}  // namespace scanloom::ops
