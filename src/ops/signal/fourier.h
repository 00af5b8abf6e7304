// Fourier transforms as products with matrices that are computed from the sizes: what does not
// depend on data is computed once, when the sizes are bound or folded.
#pragma once

#include "ops/composer.h"

namespace scanloom::ops {

inline constexpr double kPi = 3.14159265358979323846;

/// What a transform takes and gives along its axis, in i64 scalars.
struct Transform {
  ir::ValueId length;  ///< of the full signal
  ir::ValueId inputs, outputs;
  bool inverse = false, onesided = false;
  int input_parts = 1, output_parts = 2;  ///< 1: real numbers, 2: real and imaginary parts
};

/// How many numbers a one-sided spectrum of that many has.
ir::ValueId half_up(Composer& c, ir::ValueId length);

/// x of `rank` axes, the last of which has its parts, transformed along `axis`.
ir::ValueId transform_axis(Composer& c, ir::ValueId x, int rank, int axis, const Transform& t);

}  // namespace scanloom::ops
