// Branch nodes of a graph. The operands are the condition, the values of the region for true, and
// those of the region for false. Both regions are parts of the surrounding graph; where their nodes
// are computed is found on demand (expr/region_assignment.h).
#pragma once

#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// Returns the results of a branch whose regions have equally many values. Errors, held by all
/// results: a condition of several elements, values of different ranks.
[[nodiscard]] std::vector<Expr> make_branch(const Expr& condition, const std::vector<Expr>& a,
                                            const std::vector<Expr>& b);

}  // namespace scanloom::expr
