// RegionAssignment: where the nodes of a graph are computed. A branch's branch regions are operands
// like any others; what a branch region alone reads belongs in that branch region, so that it is
// computed where the branch region is chosen.
//
// A node that both branch regions of a branch need is computed before it. One that several branches
// may need, each in a branch region, is computed in each of these, up to a few times; then before
// all of them.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// Number of a region; 0: the graph itself, of which every other region is a branch region.
using AssignedRegion = std::size_t;

class RegionAssignment {
 public:
  /// Of what the outputs, which are needed in any case, reach; of nodes with a stable form that
  /// `takes` agrees to, what that does.
  explicit RegionAssignment(std::span<const Expr> outputs,
                            const std::function<bool(const Node&)>& takes = {});

  /// Whether the node's stable form is computed in its region.
  [[nodiscard]] bool takes_stable_form(const Node& node) const { return stable_.contains(&node); }
  [[nodiscard]] std::size_t count() const { return regions_.size(); }
  /// The nodes that are computed there, each after those it reads.
  [[nodiscard]] const std::vector<const Node*>& nodes(AssignedRegion region) const {
    return regions_[region].nodes;
  }
  /// The region of a branch region of a branch that is computed at `region`; `region` itself where
  /// branches lie in each other too deep.
  [[nodiscard]] AssignedRegion branch_region(AssignedRegion region, const Node& branch,
                                             std::size_t which) const;
  /// Of a branch region: the region of its branch, the branch, and which of its branch regions this
  /// is.
  [[nodiscard]] AssignedRegion around(AssignedRegion branch_region) const {
    return regions_[branch_region].parent;
  }
  [[nodiscard]] const Node& branch(AssignedRegion branch_region) const {
    return *regions_[branch_region].branch;
  }
  [[nodiscard]] static std::size_t which(AssignedRegion branch_region) {
    return (branch_region + 1) % 2;
  }
  /// Where the node is computed.
  [[nodiscard]] const std::vector<AssignedRegion>& of(const Node& node) const {
    return regions_of_.at(&node);
  }
  /// Whether the node is computed at that very region.
  [[nodiscard]] bool is_at(const Node& node, AssignedRegion region) const;
  /// Whether the node is computed in any case.
  [[nodiscard]] bool is_always(const Node& node) const { return is_at(node, 0); }

 private:
  struct RegionRow {
    AssignedRegion parent = 0;
    const Node* branch = nullptr;
    int depth = 0;
    std::vector<const Node*> nodes;
    std::unordered_map<const Node*, AssignedRegion>
        then;  ///< by branch; the other branch region is the next region
  };

  void use(const Expr& x, AssignedRegion region);
  void use_operands(const Node& node, AssignedRegion region);
  [[nodiscard]] bool is_within(AssignedRegion inner, AssignedRegion outer) const;
  [[nodiscard]] AssignedRegion common(AssignedRegion a, AssignedRegion b) const;

  std::unordered_set<const Node*> stable_;
  std::vector<RegionRow> regions_;
  std::unordered_map<const Node*, std::vector<AssignedRegion>> regions_of_;
};

}  // namespace scanloom::expr
