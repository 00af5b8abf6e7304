// gradient: stands for the gradient of a value of its region, until the layer that knows gradients
// expands it (api/expand_gradients.h), before any pass. It has no kernel.
//
// The operands are the value y, the variables x, the fixed variables z, and then what takes the
// place of each x and each z in y. y is a function of x and z; results are the gradients of the sum
// of its elements with respect to each x.
#pragma once

#include "ir/op_def.h"

namespace scanloom::ir {

extern const OpDef gradient_op;

/// The operands of a gradient node by role.
struct GradientOperands {
  ValueId y;
  std::span<const ValueId> variables;  ///< x, then z
  std::span<const ValueId> values;     ///< what takes their place
  std::size_t wrt = 0;                 ///< how many of them are x

  /// Precondition: the node's op is gradient_op.
  static GradientOperands of(const Node& node);
};

}  // namespace scanloom::ir
