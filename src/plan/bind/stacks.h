// Stacked rows: those of a result of known sizes are written where they belong; so are those whose
// number only the run knows, in memory that grows; others are gathered one by one.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Whether stack i has a place and sizes before the loop begins.
[[nodiscard]] bool has_known_rows(const BindContext& ctx, const BoundLoop& loop, std::size_t i);
/// Whether all of stack i is known except the number of its rows, which can be put end to end.
[[nodiscard]] bool has_open_rows(const BindContext& ctx, const ir::Node& loop, std::size_t i);

/// Binds the stacks as part of the loop's instruction.
void bind_stacked(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop);

/// All operands of the node, where a stack may have no rows and has to be sized by them.
void bind_operands_of_stacks(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop);

/// Makes what the body yields rows. Emits copies. Returns what the end of a step reads.
std::vector<Location> finish_stacked(BindContext& ctx, BoundLoop& loop);

}  // namespace scanloom::plan
