// Which bodies of loops that are more than one element program may become machine code, and which
// regions of the others. They are bound as all stepped loops are, and start so; the code takes over
// at the beginning of a step.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Decides whether the body, which has been bound, may become machine code. Then its values get
/// memory of their own for as long as the loop runs: joined nests read and write them in another
/// order than the instructions do. Otherwise the loop learns why not, and regions of the body may
/// become code. `end`: the instruction that ends a step. `index`: the loop's, in Binding::loops.
void find_body_code(BindContext& ctx, InstructionScope& end, BoundLoop& loop, std::uint32_t index);

}  // namespace scanloom::plan
