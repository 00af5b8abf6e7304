// What a node does to the axis of the steps, as its operator's rule tells; step_axes.h follows it
// from node to node.
#pragma once

#include "base/expected.h"
#include "ir/step_rules.h"

namespace scanloom::passes {

/// Returns where the steps are in all results of the node. Error: unsupported, saying why it is not
/// known. Precondition: the ranks of operands and results are known.
Expected<ir::StepFlow> flow_of_results(const ir::StepSite& site);

}  // namespace scanloom::passes
