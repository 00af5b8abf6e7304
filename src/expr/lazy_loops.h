// Loops in the form in which they are computed. What a body reads from outside is an operand of the
// loop, so that gradients and substitution find it. If only branch regions of the body read it, and
// it may fail, it is computed inside these.
#pragma once

#include <vector>

#include "expr/substitute.h"

namespace scanloom::expr {

/// Returns the expressions with such loops. `kept` maps what has a value already to itself.
[[nodiscard]] std::vector<Expr> with_lazy_loops(const std::vector<Expr>& outputs,
                                                const Replacements& kept);

}  // namespace scanloom::expr
