// Outside: the counterparts, outside a loop, of values of its body, built up node by node.
#pragma once

#include <map>

#include "passes/lifting/lift.h"

namespace scanloom::passes {

/// Nodes are added at the end of the loop's region until they are moved to their final position or
/// taken back.
class Outside {
 public:
  /// Maps the body's captured arguments to the captured values.
  Outside(ir::Module& module, ir::NodeId loop);

  void set(ir::ValueId inside, const Lifted& outside) { map_[inside] = outside; }
  [[nodiscard]] bool has(ir::ValueId inside) const { return map_.contains(inside); }
  /// Precondition: has(inside).
  [[nodiscard]] const Lifted& operator[](ir::ValueId inside) const { return map_.at(inside); }

  /// Copies a node of the body, or lifts it if one of its operands is a sequence of `steps`
  /// elements. Error: internal, if the resulting sizes are not those inside the loop.
  Expected<void> add(ir::NodeId node, ir::Dim steps);

  [[nodiscard]] ir::Builder& builder() { return builder_; }
  /// Moves the added nodes before the loop, or after it.
  void put_before() { put(0); }
  void put_after() { put(1); }
  void take_back();

 private:
  void put(std::ptrdiff_t offset);
  [[nodiscard]] Expected<void> check_type(ir::ValueId inside, const Lifted& lifted,
                                          ir::Dim steps) const;
  ir::NodeId copy(ir::NodeId node, std::vector<ir::ValueId> inputs);

  ir::Module& module_;
  const ir::NodeId loop_;
  const ir::RegionId region_;
  const std::size_t before_;  ///< how many nodes the region had at the beginning
  ir::Builder builder_;
  std::map<ir::ValueId, Lifted> map_;
};

}  // namespace scanloom::passes
