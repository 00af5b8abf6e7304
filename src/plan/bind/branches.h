// Branches: a condition that sizes alone decide leaves only the region that runs; otherwise both
// regions are bound, and each sets the slots of the results before it jumps to the common end.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Begins to bind a branch. Errors: invalid_argument (a condition of several elements).
Expected<void> bind_branch(BindContext& ctx, ir::NodeId id);

/// Ends the then region, and begins the else region.
void finish_then_region(BindContext& ctx, RegionFrame& frame);

/// Makes the yields of the region that ends here the results of the branch.
void finish_region_of_branch(BindContext& ctx, RegionFrame& frame);

/// A trip count or condition, which has one element; a dynamic one is looked at when it is read.
/// Errors: invalid_argument (it has several).
Expected<Location> control_operand(BindContext& ctx, ir::NodeId node, ir::ValueId id,
                                   std::string_view what);

}  // namespace scanloom::plan
