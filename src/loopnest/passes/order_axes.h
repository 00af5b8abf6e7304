// The axes of a nest in the order in which they are walked.
#pragma once

#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// Axes in the order in which vectors are best taken along the last, neighbours joined where all
/// operands walk both in one stride.
void order_axes(Nest& nest);

}  // namespace scanloom::loopnest
