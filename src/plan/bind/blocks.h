// Scanned rows that are computed in blocks of steps (block_plan.h). The nodes that compute them are
// bound to the rows of one block, in a list of instructions that a run executes before the first
// step of each block. They need the memory of one block, whatever the number of steps, and the
// steps read it from the cache. All blocks have the same number of rows. The first is used only for
// the steps that remain (10 rows in blocks of 4: 2, 4, 4), so each block starts at its first row.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Marks nodes that are bound with the loop that scans their results, such as those that compute
/// rows in blocks.
void plan_blocks(BindContext& ctx);

/// Returns which rows are computed with the loop, and sets the counts and ports of loop.blocks. If
/// an input of the nodes has no known memory, nothing is computed in blocks. Emits nothing.
BlockPlan take_block_plan(BindContext& ctx, ir::NodeId id, BoundLoop& loop);

/// Binds the nodes of the plan and sets the rest of loop.blocks. Returns the instructions of a
/// block. Errors: those of the nodes.
Expected<BlockCode> bind_blocks(BindContext& ctx, const BlockPlan& plan, BoundLoop& loop);

/// Appends these instructions after the loop's.
void append_blocks(BindContext& ctx, const BlockCode& block, BoundLoop& loop);

}  // namespace scanloom::plan
