// Places: assigns each node of a graph to the regions in which it is computed. A branch's values
// are operands like any others; what only one region reads belongs in that region, so that it is
// computed only if the region is chosen.
//
// A node that both regions of a branch need is computed before the branch. One that several
// branches may need, each in one region, is computed in each of these, up to a few times; otherwise
// before all of them.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expr/node.h"

namespace scanloom::expr {

/// The number of a region; 0: the graph itself, which contains all others.
using AssignedRegion = std::size_t;

class RegionAssignment {
 public:
  /// Assigns all nodes that the outputs reach; the outputs are always needed. For a node with a
  /// stable form it follows that form if `takes` returns true.
  explicit RegionAssignment(std::span<const Expr> outputs,
                            const std::function<bool(const Node&)>& takes = {});

  /// Whether the node's stable form is computed instead of it.
  [[nodiscard]] bool takes_stable_form(const Node& node) const { return stable_.contains(&node); }
  [[nodiscard]] std::size_t count() const { return regions_.size(); }
  /// The nodes computed in that region, each after those it reads.
  [[nodiscard]] const std::vector<const Node*>& nodes(AssignedRegion region) const {
    return regions_[region].nodes;
  }
  /// Returns the region of a branch that is computed in `region`; `region` itself if branches nest
  /// too deeply.
  [[nodiscard]] AssignedRegion branch_region(AssignedRegion region, const Node& branch,
                                             std::size_t which) const;
  /// For the region of a branch: the region that contains the branch, the branch, and which of its
  /// two regions this is.
  [[nodiscard]] AssignedRegion around(AssignedRegion branch_region) const {
    return regions_[branch_region].parent;
  }
  [[nodiscard]] const Node& branch(AssignedRegion branch_region) const {
    return *regions_[branch_region].branch;
  }
  [[nodiscard]] static std::size_t which(AssignedRegion branch_region) {
    return (branch_region + 1) % 2;
  }
  /// The regions in which the node is computed.
  [[nodiscard]] const std::vector<AssignedRegion>& of(const Node& node) const {
    return regions_of_.at(&node);
  }
  /// Whether the node is computed in exactly that region.
  [[nodiscard]] bool is_at(const Node& node, AssignedRegion region) const;
  /// Whether the node is always computed.
  [[nodiscard]] bool is_always(const Node& node) const { return is_at(node, 0); }

 private:
  struct RegionRow {
    AssignedRegion parent = 0;
    const Node* branch = nullptr;
    int depth = 0;
    std::vector<const Node*> nodes;
    std::unordered_map<const Node*, AssignedRegion> then;  ///< by branch; the other region has the
                                                           ///< next number
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
