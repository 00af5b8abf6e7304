// The number of steps in nodes that read the sizes of values along the steps; step_axes.h follows
// it from node to node.
#pragma once

#include "base/expected.h"
#include "ir/step_rules.h"

namespace scanloom::passes {

/// Returns where the steps are in the results of a node that reads the sizes of a value along the
/// steps, or values computed from these sizes. Error: unsupported, saying that the node does
/// anything but count the steps of a loop or shape another value.
Expected<ir::StepFlow> flow_of_sizes(const ir::StepSite& site);

/// Whether the node picks the first or last step, and nothing but sizes is read of it:
/// "zeros_like(x[0])". All steps have these sizes.
bool picks_for_sizes(const ir::StepSite& site);

/// Error: a result that does not depend on the steps, as far as found, has their number as a size.
Expected<void> expect_no_hidden_steps(const ir::StepSite& site);

}  // namespace scanloom::passes
