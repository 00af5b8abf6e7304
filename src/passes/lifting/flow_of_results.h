// What a node does to the axis of the steps, as its operator's rule tells; step_axes.h follows it
// from node to node.
#pragma once

#include <cstddef>

#include "base/expected.h"
#include "ir/step_rules.h"

namespace scanloom::passes {

/// Returns the kind of an operand: `same` for one that is absent.
ir::StepFlow::Kind kind_of(const ir::StepSite& site, std::size_t operand);
/// Whether any operand is of that kind.
bool has_operand_of(const ir::StepSite& site, ir::StepFlow::Kind wanted);

/// Returns where the steps are in all results of the node. Error: unsupported, saying why it is not
/// known. Precondition: the ranks of operands and results are known.
Expected<ir::StepFlow> flow_of_results(const ir::StepSite& site);

/// Returns the same for any node along the steps that is neither a loop nor a layer, including
/// products that sum over the steps and nodes that pick the last step. Error: as above, or unknown
/// ranks.
Expected<ir::StepFlow> flow_along(const ir::StepSite& site);

}  // namespace scanloom::passes
