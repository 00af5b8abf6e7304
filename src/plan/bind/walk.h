// Walks the module that is being bound, region by region in order. Uses an explicit stack, because
// bodies may nest a thousand deep.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Binds all regions. Errors: those of nodes that certainly run. The error of a node that may not
/// run becomes a trap instead.
Expected<void> bind_regions(BindContext& ctx);

/// Makes the region the next to be bound. It is not certain to run if the region around it is not.
void push_region(BindContext& ctx, RegionFrame frame);

/// Binds a node of the region that is being bound. A group of nodes is bound with its last one.
Expected<void> bind_node(BindContext& ctx, ir::NodeId id);
/// Binds the node by itself.
Expected<void> bind_alone(BindContext& ctx, ir::NodeId id);

}  // namespace scanloom::plan
