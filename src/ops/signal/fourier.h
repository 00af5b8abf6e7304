// Fourier transforms as products with matrices that are computed from the sizes. These do not
// depend on data, so they are computed once, when the sizes are bound or folded.
#pragma once

#include "ops/composer.h"

namespace scanloom::ops {

inline constexpr double kPi = 3.14159265358979323846;

/// Sizes of a transform along its axis, as i64 scalars.
struct Transform {
  ir::ValueId length;  ///< of the full signal
  ir::ValueId inputs, outputs;
  bool inverse = false, onesided = false;
  int input_parts = 1, output_parts = 2;  ///< 1: real, 2: real and imaginary parts
};

/// Returns the size of the one-sided spectrum of a signal of `length`.
ir::ValueId half_up(Composer& c, ir::ValueId length);

/// Transforms x along `axis`. x has `rank` axes; the last one holds the parts.
ir::ValueId transform_axis(Composer& c, ir::ValueId x, int rank, int axis, const Transform& t);

}  // namespace scanloom::ops
