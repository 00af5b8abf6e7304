// Unfolding: the windows of a convolution as the columns of a matrix, [channels * kernel positions]
// rows by output positions, with zeros where a window reaches into the padding. Used by conv and
// qlinear_conv.
#pragma once

#include <cstdint>

#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// How output positions are unfolded range by range: a range stays in L2.
struct UnfoldedRanges {
  std::int64_t size = 0, count = 0;  ///< positions of a range, but of the last one; ranges
  std::int64_t slots = 1;  ///< places for unfolded ranges: as many threads may work at once
};

/// A position takes `column_bytes`, 0 where nothing has to be unfolded: then all are one range. All
/// ranges are walked `times` times.
UnfoldedRanges unfolded_ranges(std::int64_t positions, std::int64_t column_bytes,
                               std::int64_t times);

/// Elements [first, first + count) of the output positions in row-major order; `x` is the first
/// channel of a group, x_channel and x_axis its strides in elements. Rows of `to` are `count`
/// apart. T: float, double or int16_t.
template <class T>
void unfold(const tensor::ConvGeometry& geometry, const T* x, std::int64_t x_channel,
            const std::int64_t* x_axis, std::int64_t first, std::int64_t count, T* to);

}  // namespace scanloom::kernels
