// The batch form of tree_ensemble: many rows, and trees of few leaves (tree_marks.h).
#pragma once

#include <optional>

#include "kernels/kernel.h"
#include "opmath/tree_tables.h"

namespace scanloom::kernels {

/// Prepares a call that marks leaves, or returns nothing if walking from node to node is faster.
/// Precondition: x has every feature that the trees read.
template <class Real>
std::optional<Prepared> prepare_marked_trees(const PrepareCtx& ctx,
                                             const tensor::TreeTables<Real>& tables);

}  // namespace scanloom::kernels
