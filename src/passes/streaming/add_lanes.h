// Gives a stream form without a batch an axis of lanes: each lane is one sequence, with steps and
// states of its own. Nodes are lifted (passes/lifting/lift.h), so each element is computed as in a
// run of that sequence alone, bit for bit.
#pragma once

#include <variant>
#include <vector>

#include "base/refusal.h"
#include "ir/module.h"
#include "ir/step_rules.h"
#include "passes/streaming/lane_axes.h"

namespace scanloom::passes {

struct LanedForm {
  ir::Module module;  ///< of the form's arguments and results, some of which have one more axis
  LaneAxes axes;      ///< where that is
};

/// Adds lanes to a stream form. Everything that has steps, every state and every other argument
/// that is not `common` (by argument) gets the new axis. `arguments`, `results`: as in lane_axes().
/// Refusal: the node that cannot be computed for many sequences at once.
std::variant<LanedForm, Refusal> add_lanes(const ir::Module& form,
                                           const std::vector<ir::StepFlow>& arguments,
                                           const std::vector<ir::StepFlow>& results,
                                           const std::vector<bool>& common);

}  // namespace scanloom::passes
