// Samples of images between elements, as roi_align and roi_align_rotated take them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tensor/call.h"

namespace scanloom::ops {

/// The two neighbors of a coordinate on an axis, and the weight of the upper one.
template <class T>
struct Neighbours {
  std::int64_t low = 0, high = 0;
  T weight = 0;
  bool inside = false;  ///< not more than one element outside the axis
};

template <class T>
Neighbours<T> neighbours(T at, std::int64_t size) {
  Neighbours<T> result;
  result.inside = size > 0 && at >= T{-1} && at <= static_cast<T>(size);
  if (!result.inside) return result;
  at = std::max(at, T{0});
  result.low = static_cast<std::int64_t>(at);
  if (result.low >= size - 1) {
    result.low = result.high = size - 1;
    return result;
  }
  result.high = result.low + 1;
  result.weight = at - static_cast<T>(result.low);
  return result;
}

/// The four neighbors of a sample: offsets in a plane, and weights.
template <class T>
struct ImageSample {
  std::array<std::int64_t, 4> offsets{};
  std::array<T, 4> weights{};
  bool inside = false;

  ImageSample(const Neighbours<T>& row, const Neighbours<T>& column, const tensor::Operand& x) {
    inside = row.inside && column.inside;
    if (!inside) return;
    const T up = 1 - row.weight, left = 1 - column.weight;
    weights = {up * left, up * column.weight, row.weight * left, row.weight * column.weight};
    const std::int64_t rows[] = {row.low * x.strides[2], row.high * x.strides[2]};
    const std::int64_t columns[] = {column.low * x.strides[3], column.high * x.strides[3]};
    for (std::size_t i = 0; i < 4; ++i) offsets[i] = rows[i / 2] + columns[i % 2];
  }
};

}  // namespace scanloom::ops
