// Reading the part of a tensor that an index names.
#pragma once

#include <string>
#include <vector>

#include <scanloom/expr.h>

#include "expr/index_items.h"

namespace scanloom::expr {

/// Returns indices of any rank, broadcast with each other, as tuples along a new last axis.
Expr tuples_of(const std::vector<Expr>& indices, const std::string& words);

/// Returns the part of x. `words`: describes what was indexed, for the error about an index that is
/// outside.
Expr take_part(const Expr& x, const ResolvedIndex& part, const std::string& words);

/// Returns the part of x as an expression that remembers what it is a part of, for set_subtensor.
Expr picked_from(const Expr& x, const std::vector<Index>& items, const std::string& words);

}  // namespace scanloom::expr
