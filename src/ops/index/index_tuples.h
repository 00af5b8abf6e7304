// Tuples of indices along the last axis of an operand, as gather_nd and scatter_nd read them.
#pragma once

#include "ops/indices.h"
#include "tensor/shape.h"

namespace scanloom::ops {

/// The position of a tuple: an offset in elements, or the index that is out of range.
struct TuplePosition {
  std::int64_t offset = 0;
  bool outside = false;
  std::int64_t index = 0, size = 0;
};

/// Returns the position of the tuple at `at`, which indexes axes [first, first + length) of `data`.
[[nodiscard]] inline TuplePosition position_of_tuple(const tensor::Operand& indices,
                                                     std::int64_t at, const tensor::Operand& data,
                                                     int first) {
  const int last = indices.rank - 1;
  TuplePosition tuple;
  for (std::int64_t i = 0; i < indices.dims[last]; ++i) {
    const int axis = first + static_cast<int>(i);
    const std::int64_t index = index_at(indices, at + i * indices.strides[last]);
    const std::int64_t position = position_of(index, data.dims[axis]);
    if (position < 0) return {0, true, index, data.dims[axis]};
    tuple.offset += position * data.strides[axis];
  }
  return tuple;
}

inline constexpr char kIndexOutside[] = "index {} is outside an axis of {} elements";

}  // namespace scanloom::ops
