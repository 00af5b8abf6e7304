// Overlap-add, as in col2im: the inverse of a convolution's walk. Element i of an axis of x is
// added to element i * stride - pad + k * dilation of the result for every tap k of the window, if
// the result has that element.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "opmath/conv_geometry.h"
#include "tensor/for_each.h"

namespace scanloom::ops {

struct OverlapAxis {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

struct OverlapGeometry {
  int spatial = 0;
  std::array<OverlapAxis, tensor::kMaxSpatial> axes{};

  [[nodiscard]] tensor::Shape kernel() const {
    tensor::Shape sizes;
    for (int i = 0; i < spatial; ++i) sizes.push_back(axes[static_cast<std::size_t>(i)].kernel);
    return sizes;
  }
};

/// The elements [first, last) of an axis of x that tap k adds to elements of the result.
struct OverlapRange {
  std::int64_t first = 0, last = 0;
};

[[nodiscard]] inline OverlapRange overlap_range(const OverlapAxis& axis, std::int64_t k) {
  const std::int64_t moved = k * axis.dilation - axis.pad;
  const std::int64_t below = -moved, beyond = axis.out - moved;
  const auto up = [&](std::int64_t a) {
    return a <= 0 ? std::int64_t{0} : (a + axis.stride - 1) / axis.stride;
  };
  return {std::min(up(below), axis.in), std::min(up(beyond), axis.in)};
}

/// The elements that one tap adds: rows of a cursor over x (operand 0) and the result (operand 1).
struct OverlapTap {
  tensor::RowCursor<2> rows;
  std::int64_t x_offset = 0, y_offset = 0;  ///< of the first element
  std::int64_t number = 0;                  ///< of the tap, row-major
};

/// Calls f(tap) for each tap of the window that adds anything, in row-major order. Strides are
/// those of the spatial axes.
template <class F>
void for_each_overlap(const OverlapGeometry& geometry, const std::int64_t* x_strides,
                      const std::int64_t* y_strides, F&& f) {
  std::int64_t number = 0;
  tensor::for_each_index(geometry.kernel().dims(), [&](const tensor::Shape& tap) {
    tensor::Shape counts, steps;
    std::int64_t x_offset = 0, y_offset = 0;
    bool moves = true;
    for (int i = 0; i < geometry.spatial; ++i) {
      const OverlapAxis& axis = geometry.axes[static_cast<std::size_t>(i)];
      const OverlapRange range = overlap_range(axis, tap[i]);
      counts.push_back(std::max<std::int64_t>(range.last - range.first, 0));
      // A tap that adds nothing may be so far away that its offset overflows.
      if (counts[i] == 0) moves = false;
      if (!moves) break;
      // A step that is never taken may overflow, too.
      steps.push_back(counts[i] == 1 ? 0 : axis.stride * y_strides[i]);
      x_offset += range.first * x_strides[i];
      y_offset += (range.first * axis.stride - axis.pad + tap[i] * axis.dilation) * y_strides[i];
    }
    const std::int64_t this_number = number++;
    if (!moves) return;
    OverlapTap moved{tensor::RowCursor<2>(counts.dims()), x_offset, y_offset, this_number};
    moved.rows.add(x_strides);
    moved.rows.add(steps.data());
    f(moved);
  });
}

}  // namespace scanloom::ops
