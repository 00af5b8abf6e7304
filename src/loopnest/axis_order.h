// The order in which the axes of a nest are walked.
#pragma once

#include "loopnest/loopnest.h"

namespace scanloom::loopnest {

/// Moves the axis along which vectors cost least to the end, and joins adjacent axes that all
/// operands walk with one stride. Leaves nests that write by index as they are.
void choose_axis_order(Nest& nest);

}  // namespace scanloom::loopnest
