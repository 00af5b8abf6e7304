// Branch nodes of a graph.
#pragma once

#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// The results of a branch with two sides, then first, whose arguments stand for `captured`.
/// Precondition: the sides have equally many yields, of the same types and ranks.
[[nodiscard]] std::vector<Expr> make_branch(const Expr& condition, std::vector<Expr> captured,
                                            std::vector<Body> sides);

}  // namespace scanloom::expr
