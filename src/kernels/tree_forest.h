// The trees of tree_ensemble, packed for walking.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "kernels/kernel.h"
#include "opmath/tree_tables.h"

namespace scanloom::kernels {

/// One node of the packed trees, inner or leaf.
///
/// The two nodes that follow an inner one are adjacent, `onward` nodes after it: the walk goes to
/// the second if the row's feature is at most the threshold, otherwise, and for NaN, to the first.
/// A leaf leads to itself: its threshold is NaN and `onward` is 0.
template <class Real, class Word>
struct TreeNode {
  static constexpr Word kMissingTrue = Word{1} << (8 * sizeof(Word) - 1);

  Real threshold;
  Word feature;  ///< with kMissingTrue if NaN goes to the second node
  Word onward;
};

/// Where a tree begins, and the steps from there to its nearest and to its farthest leaf.
struct PackedTree {
  std::int32_t root = 0;
  int nearest = 0, depth = 0;
};

/// Trees whose nodes have fields of this width. Narrow ones keep twice as many in a cache, and a
/// tree of 65,535 nodes or fewer has room for its distances.
template <class Real, class Word>
struct PackedNodes {
  using Node = TreeNode<Real, Word>;
  std::vector<Node> nodes;
};

template <class Real>
struct TreeForest {
  std::variant<PackedNodes<Real, std::uint16_t>, PackedNodes<Real, std::uint32_t>> packed;
  std::vector<PackedTree> trees;
  /// By node: the weight of a leaf, if every leaf has one weight, for the only target.
  std::vector<Real> weights;
  /// By node, otherwise: the number of a leaf in the tables.
  std::vector<std::int32_t> leaves;
  std::int64_t steps = 0;     ///< of a row in all trees, at most
  bool missing_true = false;  ///< whether NaN goes to the second node anywhere

  [[nodiscard]] bool one_weight() const { return leaves.empty(); }
};

/// Returns the packed trees, from the cache if it has them; null if nodes with several parents,
/// which are packed once for each, make them too large. `packs` may be null.
template <class Real>
std::shared_ptr<const TreeForest<Real>> packed_forest(const tensor::TreeTables<Real>& tables,
                                                      PackCache* packs);

}  // namespace scanloom::kernels
