// Formulas of normalizations that front-ends share.
#pragma once

#include "ops/composer.h"

namespace scanloom::ops {

/// x less its mean over the axes, and the mean of the squares of that.
struct Centred {
  ir::ValueId x, variance;
};

Centred centre(Composer& c, ir::ValueId x, const Composer::Ints& axes);

/// (x - mean) / sqrt(variance + epsilon) over the axes.
ir::ValueId normalise(Composer& c, ir::ValueId x, const Composer::Ints& axes, double epsilon);

/// For each element the sum over those along `axis` from `before` ones before it to `after` ones
/// after it. Error (unsupported): more than 1024 of them.
ir::ValueId window_sums(Composer& c, ir::ValueId x, std::int64_t axis, std::int64_t before,
                        std::int64_t after);

}  // namespace scanloom::ops
