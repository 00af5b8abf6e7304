// Binds branches. If sizes alone decide the condition, only the region that runs is bound.
// Otherwise both are, and each sets the slots of the results before it jumps to the common end.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Starts binding a branch. Errors: invalid_argument (a condition of several elements).
Expected<void> bind_branch(BindContext& ctx, ir::NodeId id);

/// Ends the then region and starts the else region.
void finish_then_region(BindContext& ctx, RegionFrame& frame);

/// Makes the yields of the region that ends here the branch's results.
void finish_region_of_branch(BindContext& ctx, RegionFrame& frame);

/// Returns a trip count or condition, which must have one element; a dynamic one is checked when it
/// is read. Errors: invalid_argument (several elements).
Expected<Location> control_operand(BindContext& ctx, ir::NodeId node, ir::ValueId id,
                                   std::string_view what);

}  // namespace scanloom::plan
