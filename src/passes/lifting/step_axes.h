// Follows the axis of the steps through the values that are computed from a sequence outside of
// loops, and finds the nodes that compute across the steps.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "ir/step_rules.h"

namespace scanloom::passes {

using ir::StepFlow;

/// An initial value, and the result that holds the final value, of a loop or layer along the steps
/// or of a sum over them.
struct CarriedSite {
  ir::NodeId node;
  std::size_t input = 0, output = 0;
  ir::Type type;  ///< the type that it has after each step
};

struct StepAxes {
  std::vector<StepFlow> flows;  ///< by ValueId
  std::vector<CarriedSite> sites;
};

/// Follows the axes of the module's arguments that have the size `steps`. Error: unsupported,
/// naming the first node that computes across the steps or may do so.
Expected<StepAxes> follow_steps(const ir::Module& module, ir::Dim steps);

}  // namespace scanloom::passes
