// Random classes by their probabilities.
#pragma once

#include "ops/composer.h"

namespace scanloom::ops {

/// Returns i64 [batch, samples]: per sample the class that a uniform number of `random`
/// [batch, samples] selects by `weights` [batch, classes], which need not sum to 1. Both are f64.
ir::ValueId picked_classes(Composer& c, ir::ValueId weights, ir::ValueId random);

}  // namespace scanloom::ops
