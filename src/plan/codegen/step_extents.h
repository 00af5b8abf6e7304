// How far apart the slices and rows of a loop's steps lie.
#pragma once

#include "loopnest/passes/parametrize.h"
#include "plan/binding.h"

namespace scanloom::plan {

/// Of the slices and rows of `loop` and of the loops inside.
loopnest::StepExtents step_extents(const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
