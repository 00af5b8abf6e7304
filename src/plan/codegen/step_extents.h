// The distances between the slices and between the rows of a loop's steps.
#pragma once

#include "loopnest/passes/parametrize.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// Returns the extents of the slices and rows of `loop` and of its inner loops.
loopnest::StepExtents step_extents(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
