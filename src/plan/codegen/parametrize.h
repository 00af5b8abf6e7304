// What differs from one number of steps to the next becomes parameters that the run passes.
#pragma once

#include "plan/codegen/body_source.h"

namespace scanloom::plan {

/// Moves such numbers of `body.source` to `body.parameters`: the strides of slices and rows of
/// values in which the axis of the steps is not the outermost, the sizes of axes that an index
/// picks from, and of inner loops of more than a few steps how many they are and where they begin.
/// `loop` is what the body is of.
void parametrize(Body& body, const Binding& binding, const BoundLoop& loop);

}  // namespace scanloom::plan
