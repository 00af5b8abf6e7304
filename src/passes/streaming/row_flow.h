// RowFlow: what is computed from the results of one loop on the way to another one that scans them,
// and which of it can be computed in the body of the first, step by step.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "passes/rewrite/lower.h"

namespace scanloom::passes {

/// A value outside of the loop: element k along `axis` belongs to step k, or to the k-th step from
/// the last one.
struct RowSequence {
  int axis = 0;
  bool reverse = false;
  ir::Dim steps;
  ir::NodeId maker;    ///< invalid: it is stacked by the loop
  StepsOfNode lowers;  ///< the maker, to a step's
};

/// The nodes of a region, each behind those that make its operands, while loops of it become one.
class NodeOrder {
 public:
  explicit NodeOrder(const ir::Module& module) : module_(module) {}

  /// What follows is about this region as it is.
  void enter(ir::RegionId region);
  /// The nodes behind `loop` that `to` takes, in order. Precondition: `to` stands behind it.
  [[nodiscard]] std::vector<ir::NodeId> between(ir::NodeId loop, ir::NodeId to);
  /// Call when `loop` has become one with `to`, which did not need it but for rows.
  void join(ir::NodeId loop, ir::NodeId to);
  /// How many nodes all of this has looked at.
  [[nodiscard]] std::size_t visited() const { return visited_; }

 private:
  /// Whether it is the first time since the round began.
  bool mark(ir::NodeId id) { return std::exchange(marks_[id.index], round_) != round_; }
  void put(ir::NodeId id, std::size_t position);

  const ir::Module& module_;
  std::vector<ir::NodeId> nodes_;
  std::vector<std::size_t> positions_;  ///< by NodeId
  std::vector<std::size_t> marks_;      ///< by NodeId: the last round that came to it
  std::size_t round_ = 0;
  std::size_t visited_ = 0;
};

class RowFlow {
 public:
  /// `between`: what a later node takes of those behind the loop, as NodeOrder says.
  RowFlow(const ir::Module& module, ir::NodeId loop, const std::vector<ir::NodeId>& between);

  /// nullptr where the value is no such sequence.
  [[nodiscard]] const RowSequence* find(ir::ValueId value) const;
  /// Whether it takes the loop to know the value.
  [[nodiscard]] bool depends(ir::ValueId value) const {
    return sequences_.contains(value) || others_.contains(value);
  }

 private:
  void add_stack(ir::NodeId loop, std::size_t stacked);
  void follow(ir::NodeId id);
  [[nodiscard]] std::optional<RowSequence> sequence_made_by(ir::NodeId id) const;

  const ir::Module& module_;
  std::map<ir::ValueId, RowSequence> sequences_;
  std::set<ir::ValueId> others_;  ///< that depend on the loop, too
};

}  // namespace scanloom::passes
