// Branch nodes of a graph: the operands are the condition, the values of the side that is taken
// where it holds, and those of the other side. Both sides are parts of the graph around; where
// their nodes are computed is found when somebody needs to know (expr/region_assignment.h).
#pragma once

#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// The results of a branch whose sides have equally many values.
/// Errors, held by all results: a condition of several elements, values of different ranks.
[[nodiscard]] std::vector<Expr> make_branch(const Expr& condition, const std::vector<Expr>& a,
                                            const std::vector<Expr>& b);

}  // namespace scanloom::expr
