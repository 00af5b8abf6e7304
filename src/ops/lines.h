// Walking a tensor line by line along one axis, for operators that work along an axis.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "tensor/call.h"
#include "tensor/for_each.h"

namespace scanloom::ops {

[[nodiscard]] inline tensor::Shape strides_of(const tensor::Operand& operand) {
  return tensor::Shape(std::span(operand.strides, static_cast<std::size_t>(operand.rank)));
}

/// Returns the strides of a result by the axes of its input, if the result lacks `axis` or keeps it
/// with size 1; 0 along `axis`.
[[nodiscard]] inline tensor::Shape strides_without(const tensor::Operand& result, int axis,
                                                   int input_rank) {
  tensor::Shape strides = strides_of(result);
  if (result.rank < input_rank) strides.insert(axis, 0);
  strides[axis] = 0;
  return strides;
}

/// Calls f(offsets) for every line along `axis` of the index space `dims`, with the offset of the
/// line's first element for each operand. strides[i] has one stride per axis of dims. There are no
/// lines if dims has no elements.
template <std::size_t kOperands, class F>
void for_each_line(tensor::Shape dims, int axis, std::array<tensor::Shape, kOperands> strides,
                   F&& f) {
  if (dims.checked_elements() == 0) return;
  dims.erase(axis);
  std::array<const std::int64_t*, kOperands> others{};
  for (std::size_t i = 0; i < kOperands; ++i) {
    strides[i].erase(axis);
    others[i] = strides[i].data();
  }
  tensor::for_each_element<kOperands>(dims.dims(), others, std::forward<F>(f));
}

}  // namespace scanloom::ops
