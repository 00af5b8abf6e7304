// The walk over a module that is being bound: region by region, in order, with an explicit stack,
// for bodies may nest a thousand deep.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Binds all regions. Errors: those of the nodes that surely run; what may not be reached becomes a
/// trap instead.
Expected<void> bind_regions(BindContext& ctx);

/// The region is bound next. A region in one that may not run may not run either.
void push_region(BindContext& ctx, RegionFrame frame);

/// Binds a node of the region that is being bound.
Expected<void> bind_node(BindContext& ctx, ir::NodeId id);

}  // namespace scanloom::plan
