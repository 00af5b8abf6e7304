// Follows the steps of a whole sequence through a module, for sequences of unequal lengths that are
// padded to one length. Unlike a stream (lifting/step_axes.h), whole sequences may be walked in
// both directions, so values hold the steps in either order.
#pragma once

#include <variant>
#include <vector>

#include "base/refusal.h"
#include "ir/module.h"
#include "ir/step_rules.h"

namespace scanloom::passes {

/// Where the elements of a sequence are in a value along the padded steps.
enum class StepOrder : std::uint8_t {
  any,       ///< all steps have the same elements
  forward,   ///< they come first, padding follows
  backward,  ///< padding comes first; the last step's elements are the first ones after it
};

/// A loop or layer along the steps.
struct PaddedWalk {
  ir::NodeId node;
  StepOrder order = StepOrder::forward;  ///< of its steps: backward ones begin in the padding
};

/// A gather or slice that picks the element of the last step of a forward value.
struct PaddedLast {
  ir::NodeId node;
  int axis = 0;  ///< of the steps
};

struct PaddedFlow {
  std::vector<ir::StepFlow> flows;  ///< by ValueId; what loops carry is `same`
  std::vector<StepOrder> orders;    ///< by ValueId, for values along the steps
  std::vector<PaddedWalk> walks;
  std::vector<PaddedLast> lasts;
  std::vector<ir::NodeId> reversals;  ///< of the first steps, as many as the user says

  [[nodiscard]] StepOrder order(ir::ValueId value) const { return orders[value.index]; }
};

/// Follows the axes of the module's arguments that have the size `steps`. The elements of each step
/// must be computed from those of the same step, or of all steps before or after it by a loop or
/// layer. Refusal: the node that computes across the steps in another way or may do so.
std::variant<PaddedFlow, Refusal> follow_padded(const ir::Module& module, ir::Dim steps);

}  // namespace scanloom::passes
