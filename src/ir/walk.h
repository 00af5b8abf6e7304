// Walking and rewriting regions, as passes do it.
#pragma once

#include <vector>

#include "ir/module.h"

namespace scanloom::ir {

/// Regions below and including `root`, each after the regions inside it (inner first). No
/// recursion.
std::vector<RegionId> regions_inner_first(const Module& module, RegionId root);
std::vector<RegionId> regions_outer_first(const Module& module, RegionId root);

/// A substitution of values, applied to all uses (node inputs and yields) in one sweep. Chains are
/// followed: after set(a, b) and set(b, c), uses of a become c.
class ValueMap {
 public:
  explicit ValueMap(const Module& module) : to_(module.value_count()) {}
  void set(ValueId from, ValueId to);
  [[nodiscard]] ValueId operator[](ValueId id) const;
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// Rewrites inputs of a node, or yields.
  void apply(std::vector<ValueId>& values) const;
  /// Rewrites inputs and yields of every region.
  void apply(Module& module) const;

 private:
  std::vector<ValueId> to_;
  std::size_t count_ = 0;
};

/// The node and its results become that region's, whose list and those of others are the caller's.
void move_node(Module& module, NodeId node, RegionId region);

/// How often each value is read (inputs and yields), by ValueId, over the whole module.
std::vector<std::uint32_t> count_uses(const Module& module);

/// Copies the nodes of `from` to the end of `to`, with args of `from` standing for `values`;
/// returns what the yields of `from` become. Nested regions are copied too.
std::vector<ValueId> clone_region_into(Module& module, RegionId from, RegionId to,
                                       const std::vector<ValueId>& values);

/// Copies one node of `from` with its regions to the end of a region of another module, whose
/// `inputs` it reads. The table of sizes of `to` must hold that of `from`.
NodeId clone_node_into(const Module& from, NodeId node, Module& to, RegionId region,
                       const std::vector<ValueId>& inputs);

/// A copy that holds only what is reachable from the top region, renumbered in order.
Module compact(const Module& module);

}  // namespace scanloom::ir
