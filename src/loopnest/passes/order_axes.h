// Chooses the order in which the axes of a nest are walked.
#pragma once

#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// Reorders axes so that the last is the best one for vectors. Joins adjacent axes that all
/// operands walk with one stride.
void order_axes(Nest& nest);

}  // namespace scanloom::loopnest
