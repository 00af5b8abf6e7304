// Lowering: computes step by step in the body what a node outside the loop computes for all steps
// at once. The opposite of lifting (lift.h): each element is computed as before, bit for bit.
#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace scanloom::passes {

/// The axis of the steps in each operand and in the result.
struct StepsOfNode {
  static constexpr int kSame = -1;  ///< an operand that is the same in all steps, or absent

  std::vector<int> operands;
  int result = 0;
};

/// nullopt: the node cannot be lowered. known[i]: the axis of operand i if it is known to be a
/// sequence of `steps` elements, otherwise kSame; at least one is known. Other operands may turn
/// out to be sequences too, by their size along the axis.
std::optional<StepsOfNode> steps_of_node(const ir::Module& module, const ir::Node& node,
                                         const std::vector<int>& known, ir::Dim steps);

/// Appends the nodes that compute one step's element of the result, from the elements of the
/// operands that are sequences and from the other operands as they are. Errors: internal.
Expected<ir::ValueId> lower(ir::Builder& builder, ir::NodeId node, const StepsOfNode& steps,
                            std::vector<ir::ValueId> operands);

}  // namespace scanloom::passes
