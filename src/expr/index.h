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

/// Whether x is a tensor of which one operator has overwritten a part.
bool writes_part(const Expr& x);

/// Returns the tensor that x is with parts overwritten, or x. It has the same sizes, and reading
/// them there leaves the results of writes unread, so that they can be made in place.
Expr written_to(Expr x);

/// Describes what is indexed: the tensor itself also where earlier writes replaced parts of it,
/// which have no name of their own.
std::string called_table(const Expr& x);

/// Returns the part of x as an expression that remembers what it is a part of, for set_subtensor.
Expr picked_from(const Expr& x, const std::vector<Index>& items, const std::string& words);

}  // namespace scanloom::expr
