// Expands the placeholders of gradients that a front-end has read (ir/gradient_op.h). It is here
// because front-ends do not know gradients, and gradients are taken of expressions.
#pragma once

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom {

/// Replaces every gradient node by the nodes that compute it. What y is computed from is raised to
/// expressions, with the variables as inputs, and the gradients are lowered in its place; values
/// that are not among the variables count as constants. Errors, with the node: an operator on the
/// way without a gradient (unsupported); more nodes than a model may become (limit_reached).
Expected<void> expand_gradients(ir::Module& module);

}  // namespace scanloom
