// Lowering: what a node outside of a loop computes for all steps at once, computed by the body step
// by step. The opposite of lifting (lift.h): each element is computed as before, bit for bit.
#pragma once

#include <optional>
#include <vector>

#include "ir/builder.h"

namespace scanloom::passes {

/// Along which axis of each operand, and of the result, the steps stand.
struct StepsOfNode {
  static constexpr int kSame = -1;  ///< an operand that is the same in all steps, or absent

  std::vector<int> operands;
  int result = 0;
};

/// nullopt: the node cannot be lowered. known[i]: the axis of operand i where it is known to be a
/// sequence of `steps` elements, else kSame; at least one is known. Others may turn out to be
/// sequences too, by their size along the axis.
std::optional<StepsOfNode> steps_of_node(const ir::Module& module, const ir::Node& node,
                                         const std::vector<int>& known, ir::Dim steps);

/// Appends what computes one step's element of the result from those of the sequences among the
/// operands, and from the others as they are. Errors: internal.
Expected<ir::ValueId> lower(ir::Builder& builder, ir::NodeId node, const StepsOfNode& steps,
                            std::vector<ir::ValueId> operands);

}  // namespace scanloom::passes
