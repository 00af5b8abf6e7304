// Normalization formulas shared by front-ends.
#pragma once

#include "ops/composer.h"

namespace scanloom::ops {

/// x minus its mean over the axes, and the mean of the squares of that.
struct Centred {
  ir::ValueId x, variance;
};

Centred centre(Composer& c, ir::ValueId x, const Composer::Ints& axes);

/// Returns (x - mean) / sqrt(variance + epsilon) over the axes.
ir::ValueId normalise(Composer& c, ir::ValueId x, const Composer::Ints& axes, double epsilon);

/// Returns for each element the sum along `axis` from `before` elements before it to `after`
/// elements after it. Error (unsupported): more than 1024 elements.
ir::ValueId window_sums(Composer& c, ir::ValueId x, std::int64_t axis, std::int64_t before,
                        std::int64_t after);

}  // namespace scanloom::ops
