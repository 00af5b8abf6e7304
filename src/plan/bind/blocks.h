// Scanned rows that are computed in blocks of steps (block_plan.h). The nodes that compute them are
// bound to the rows of one block, in a list of instructions that a run executes before the first
// step of each block. They need the memory of one block, whatever the number of steps, and the
// steps read it from the cache. All blocks have the same number of rows. The first is used only for
// the steps that remain (10 rows in blocks of 4: 2, 4, 4), so each block starts at its first row.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Marks nodes whose results are computed in blocks, to be bound with the loop that scans them.
void plan_blocks(BindContext& ctx);

/// Binds the nodes that compute rows of the loop in blocks, if any, and sets loop.blocks. Returns
/// their instructions. If one of their inputs has no known memory yet, the nodes are bound like all
/// others. Errors: those of the nodes.
Expected<BlockCode> bind_blocks(BindContext& ctx, ir::NodeId id, BoundLoop& loop);

/// Appends these instructions after the loop's.
void append_blocks(BindContext& ctx, const BlockCode& block, BoundLoop& loop);

}  // namespace scanloom::plan
