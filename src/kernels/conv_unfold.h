// Unfolding (im2col): the windows of a convolution as the columns of a matrix with [channels *
// kernel positions] rows and a column per output position. It holds zeros where a window reaches
// into the padding. Used by conv and qlinear_conv.
#pragma once

#include <cstdint>

#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// How output positions are unfolded range by range, so that a range stays in the L2 cache.
struct UnfoldedRanges {
  /// Positions per range (the last may have fewer), and the number of ranges.
  std::int64_t size = 0, count = 0;
  /// Buffers for unfolded ranges: the number of threads that may work at once.
  std::int64_t slots = 1;
};

/// A position takes `column_bytes`; 0 means that nothing is unfolded, and one range covers all
/// positions. The ranges are walked `times` times.
UnfoldedRanges unfolded_ranges(std::int64_t positions, std::int64_t column_bytes,
                               std::int64_t times);

/// Unfolds the output positions [first, first + count) in row-major order. `x` is the first channel
/// of a group; x_channel and x_axis are its strides in elements. Rows of `to` are `count` apart.
/// T is float, double or int16_t.
template <class T>
void unfold(const tensor::ConvGeometry& geometry, const T* x, std::int64_t x_channel,
            const std::int64_t* x_axis, std::int64_t first, std::int64_t count, T* to);

/// A run of outputs along the last axis: element i becomes element start + i * stride of the line
/// of x that begins at x[line] and has `in` elements, x_step apart, or 0 outside of the line. No
/// pointer is formed if nothing is read, since it could be out of bounds.
template <class T>
void unfold_run(const T* x, std::int64_t line, std::int64_t x_step, std::int64_t start,
                std::int64_t stride, std::int64_t in, std::int64_t count, T* to);

}  // namespace scanloom::kernels
