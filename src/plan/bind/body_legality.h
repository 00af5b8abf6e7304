// Decides which loop bodies that are not one element program may become machine code, and which
// regions of the other bodies. All of them are bound, and start, as stepped loops; the code takes
// over at the beginning of a step.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Decides whether the body, which has been bound, may become machine code. If so, its values share
/// no memory while the loop runs, because fused nests read and write them in another order than the
/// instructions. Otherwise sets the loop's refusal, and regions of the body may become code.
/// `end`: the instruction that ends a step. `index`: the loop's index in Binding::loops.
void find_body_code(BindContext& ctx, InstructionScope& end, BoundLoop& loop, std::uint32_t index);

}  // namespace scanloom::plan
