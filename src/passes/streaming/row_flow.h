// RowFlow: what is computed from the results of one loop before another loop scans it, and which
// part of that can be computed step by step in the body of the first loop.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "passes/rewrite/lower.h"

namespace scanloom::passes {

/// A value outside the loop: element k along `axis` belongs to step k, or to the k-th step from the
/// end if `reverse`.
struct RowSequence {
  int axis = 0;
  bool reverse = false;
  ir::Dim steps;
  ir::NodeId maker;    ///< invalid: stacked by the loop
  StepsOfNode lowers;  ///< how the maker is lowered to a step
};

/// The nodes of a region in an order in which each follows the nodes that make its operands, kept
/// up to date while loops of the region are joined.
class NodeOrder {
 public:
  explicit NodeOrder(const ir::Module& module) : module_(module) {}

  /// Starts over with this region as it is now.
  void enter(ir::RegionId region);
  /// Returns the nodes after `loop` that `to` depends on, in order. Precondition: `to` comes after
  /// it.
  [[nodiscard]] std::vector<ir::NodeId> between(ir::NodeId loop, ir::NodeId to);
  /// Call this when `loop` has been joined with `to`, which needed only its rows.
  void join(ir::NodeId loop, ir::NodeId to);
  /// Returns how many nodes all calls have visited.
  [[nodiscard]] std::size_t visited() const { return visited_; }

 private:
  /// Returns whether the node is marked for the first time in this round.
  bool mark(ir::NodeId id) { return std::exchange(marks_[id.index], round_) != round_; }
  void put(ir::NodeId id, std::size_t position);

  const ir::Module& module_;
  std::vector<ir::NodeId> nodes_;
  std::vector<std::size_t> positions_;  ///< by NodeId
  std::vector<std::size_t> marks_;      ///< by NodeId: the last round that marked it
  std::size_t round_ = 0;
  std::size_t visited_ = 0;
};

class RowFlow {
 public:
  /// `between`: the nodes after the loop that a later node depends on, from NodeOrder.
  RowFlow(const ir::Module& module, ir::NodeId loop, const std::vector<ir::NodeId>& between);

  /// nullptr if the value is no such sequence.
  [[nodiscard]] const RowSequence* find(ir::ValueId value) const;
  /// Whether the value depends on the loop.
  [[nodiscard]] bool depends(ir::ValueId value) const {
    return sequences_.contains(value) || others_.contains(value);
  }

 private:
  void add_stack(ir::NodeId loop, std::size_t stacked);
  void follow(ir::NodeId id);
  [[nodiscard]] std::optional<RowSequence> sequence_made_by(ir::NodeId id) const;

  const ir::Module& module_;
  std::map<ir::ValueId, RowSequence> sequences_;
  std::set<ir::ValueId> others_;  ///< other values that depend on the loop
};

}  // namespace scanloom::passes
