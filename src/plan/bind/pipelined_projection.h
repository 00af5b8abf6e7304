// The input projection of a recurrent loop, pipelined with the products of its state
// (kernels/pipelined_projection.h): the rows that the loop scans are made by its steps, some steps
// ahead, instead of all before it. They are stored where they would be anyway.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Has the steps of the loop make rows that it scans, where a product makes these, nothing else
/// reads them, and the kernel finds that it pays. The calls of both products are still open: the
/// one before the loop, or before each block, makes the first rows then, and those of a step have
/// further operands. `end`: the instruction that ends a step. Precondition: the body has been
/// bound.
void pipeline_projection(BindContext& ctx, InstructionScope& end, BoundLoop& loop);

}  // namespace scanloom::plan
