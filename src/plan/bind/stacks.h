// Binds stacked rows. Rows of a result of known sizes are written to their final position, and so
// are rows of unknown number, in memory that grows. Other rows are gathered one by one.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Whether stack i has memory and known sizes before the loop begins. `trip_count`: -1 if only the
/// run knows it.
[[nodiscard]] bool has_known_rows(const BindContext& ctx, ir::NodeId loop, std::int64_t trip_count,
                                  std::size_t i);
/// Whether all sizes of stack i are known except its number of rows, and rows can be stored one
/// after the other.
[[nodiscard]] bool has_open_rows(const BindContext& ctx, const ir::Node& loop, std::size_t i);

/// Binds the stacks as part of the loop's instruction.
void bind_stacked(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop);

/// Binds all operands of the node if a stack may have no rows and is then sized by them.
void bind_operands_of_stacks(BindContext& ctx, InstructionScope& instruction, BoundLoop& loop);

/// Makes the body's yields rows. Emits copies. Returns the locations that the end of a step reads.
std::vector<Location> finish_stacked(BindContext& ctx, BoundLoop& loop);

}  // namespace scanloom::plan
