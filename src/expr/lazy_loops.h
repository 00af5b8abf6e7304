// Loops as they are computed: what a body reads of the outside is an operand of the loop, where
// gradients and substitution find it; where only sides of branches of the body read it, and it may
// fail, it is computed in these.
#pragma once

#include <vector>

#include "expr/substitute.h"

namespace scanloom::expr {

/// The expressions with such loops; `kept` maps to themselves what has a value already.
[[nodiscard]] std::vector<Expr> with_lazy_loops(const std::vector<Expr>& outputs,
                                                const Replacements& kept);

}  // namespace scanloom::expr
