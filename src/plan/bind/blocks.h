// Rows that a loop scans and that are made in blocks of steps (block_plan.h): the nodes that make
// them are bound to the rows of a block, by a list of instructions that a run executes before the
// first step of every block. Memory is that of a block, whatever the number of steps, and the steps
// read it from the cache. All blocks have the same number of rows. The first is left after as many
// steps as the others leave over, so that each begins with its first row.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Leaves nodes whose results are made in blocks to the loop that scans these.
void plan_blocks(BindContext& ctx);

/// Binds what makes the rows of a loop in blocks, if there is such; sets loop.blocks. Returns its
/// instructions. Where something that it reads has no place yet, the nodes are bound as all others
/// are. Errors: those of the nodes.
Expected<BlockCode> bind_blocks(BindContext& ctx, ir::NodeId id, BoundLoop& loop);

/// Appends these instructions after the one of the loop.
void append_blocks(BindContext& ctx, const BlockCode& block, BoundLoop& loop);

}  // namespace scanloom::plan
