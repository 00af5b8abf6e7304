// Traverses and rewrites regions, for passes.
#pragma once

#include <vector>

#include "ir/module.h"

namespace scanloom::ir {

/// The regions below and including `root`, each after the regions inside it (inner first). Does not
/// recurse.
std::vector<RegionId> regions_inner_first(const Module& module, RegionId root);
std::vector<RegionId> regions_outer_first(const Module& module, RegionId root);

/// A substitution of values, applied to all uses (node inputs and yields) in one sweep. Follows
/// chains: after set(a, b) and set(b, c), uses of a become c.
class ValueMap {
 public:
  explicit ValueMap(const Module& module) : to_(module.value_count()) {}
  void set(ValueId from, ValueId to);
  [[nodiscard]] ValueId operator[](ValueId id) const;
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Rewrites the inputs of a node, or yields.
  void apply(std::vector<ValueId>& values) const;
  /// Rewrites inputs and yields of every region.
  void apply(Module& module) const;

 private:
  std::vector<ValueId> to_;
  std::size_t count_ = 0;
};

/// Moves the ownership of the node and its results to `region`; the caller updates the node lists.
void move_node(Module& module, NodeId node, RegionId region);

/// The number of reads of each value (inputs and yields), by ValueId, over the whole module.
std::vector<std::uint32_t> count_uses(const Module& module);

/// Copies the nodes of `from`, with nested regions, to the end of `to`, replacing the args of
/// `from` by `values`; returns what the yields of `from` become.
std::vector<ValueId> clone_region_into(Module& module, RegionId from, RegionId to,
                                       const std::vector<ValueId>& values);

/// Copies one node of `from` with its regions to the end of a region of another module, with the
/// operands `inputs`. The size table of `to` must include that of `from`.
NodeId clone_node_into(const Module& from, NodeId node, Module& to, RegionId region,
                       const std::vector<ValueId>& inputs);

/// A copy with only what is reachable from the top region, renumbered in order.
Module compact(const Module& module);

}  // namespace scanloom::ir
