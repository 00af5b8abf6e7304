// Reading the elements of index operands, which are i64 or i32.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tensor/call.h"

namespace scanloom::ops {

/// Calls f(std::type_identity<I>) with the type of the indices, i32 or i64.
template <class F>
auto visit_index(const tensor::Operand& indices, F&& f) {
  if (indices.dtype == DType::i32) return f(std::type_identity<std::int32_t>{});
  return f(std::type_identity<std::int64_t>{});
}

/// Returns the element `at` elements after the first. Precondition: the dtype is i64 or i32.
[[nodiscard]] inline std::int64_t index_at(const tensor::Operand& operand, std::int64_t at) {
  return operand.dtype == DType::i32 ? operand.data<const std::int32_t>()[at]
                                     : operand.data<const std::int64_t>()[at];
}

/// Returns the position that an index selects on an axis of `size` elements; negative indices count
/// from the end. -1: out of range.
[[nodiscard]] inline std::int64_t position_of(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) return -1;
  return index < 0 ? index + size : index;
}

/// Returns element `i` of an operand with at most one axis.
[[nodiscard]] inline std::int64_t listed_index(const tensor::Operand& operand, std::int64_t i) {
  return index_at(operand, operand.rank == 0 ? 0 : i * operand.strides[0]);
}

/// Returns the axis in [0, rank) that an attribute names. Precondition: inference has checked it.
[[nodiscard]] inline int checked_axis(const tensor::Attr& attr, int rank) {
  return static_cast<int>(attr.integer() < 0 ? attr.integer() + rank : attr.integer());
}

}  // namespace scanloom::ops
