// How much memory the slices and rows of all steps of a loop span.
#pragma once

#include "loopnest/pass.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// Returns the extents of the scanned and stacked values of `loop` and its inner loops, by slot.
loopnest::StepExtents step_extents(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
