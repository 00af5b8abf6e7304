// RowFlow: what is computed from the results of one loop on the way to another one that scans them,
// and which of it can be computed in the body of the first, step by step.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/module.h"
#include "passes/lower.h"

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

class RowFlow {
 public:
  /// Precondition: `to` is another node of the loop's region and stands behind it.
  RowFlow(const ir::Module& module, ir::NodeId loop, ir::NodeId to);

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
