// Finds the axis of the batch in a stream form, so that sequences can share a run as its lanes:
// each lane is one row of every input, state and result, and no node mixes rows.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/refusal.h"
#include "ir/module.h"
#include "ir/step_rules.h"

namespace scanloom::passes {

struct LaneAxes {
  std::vector<std::optional<int>> arguments;  ///< none: the value is the same for all lanes
  std::vector<std::optional<int>> results;    ///< by yield
};

/// Returns the axes along which the lanes of a stream form are independent of each other. The batch
/// must be an open size of the inputs; everything that has steps and every state must have it.
/// `arguments`, `results`: the steps in the arguments and the own results, from StreamForm.
/// Refusal: the node that mixes lanes, or what has none.
std::variant<LaneAxes, Refusal> lane_axes(const ir::Module& module,
                                          const std::vector<ir::StepFlow>& arguments,
                                          const std::vector<ir::StepFlow>& results);

}  // namespace scanloom::passes
