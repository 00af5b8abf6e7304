// Pipelines the input projection of a recurrent loop with the products of its state
// (kernels/pipelined_projection.h): the steps compute the scanned rows some steps ahead, instead of
// all rows before the loop. The rows are stored in the same memory either way.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Makes the loop's steps compute the rows that it scans, if a product makes these rows, nothing
/// else reads them, and the kernel reports that it pays. Changes the bound calls: the product
/// before the loop, or before each block, then computes only the first rows, and the products of a
/// step get more operands. `end`: the instruction that ends a step. Precondition: the body has been
/// bound.
void pipeline_projection(BindContext& ctx, InstructionScope& end, BoundLoop& loop);

}  // namespace scanloom::plan
