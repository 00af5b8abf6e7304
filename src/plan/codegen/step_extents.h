// The distances in memory between the slices and rows of a loop's steps.
#pragma once

#include "loopnest/passes/parametrize.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// Returns the distances for the slices and rows of `loop` and its inner loops.
loopnest::StepExtents step_extents(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
