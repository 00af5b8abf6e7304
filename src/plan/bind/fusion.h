// Groups of nodes of the top region that one call computes: element-wise nodes, those that quantize
// or dequantize by one scale, and reductions of rows with the element-wise nodes before and after
// them, or a convolution with the element-wise nodes after it. A row then stays in the cache from
// one node to the next, and values that only the group reads need no memory of their own. The bits
// are those of the nodes one by one. Loop bodies have the compiler of loops instead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "ir/infer.h"
#include "ir/module.h"

namespace scanloom::plan {

struct BindContext;

/// A group, bound where its last node is: until then, no other node reads a value of the group.
struct FusedGroup {
  std::vector<ir::NodeId> nodes;  ///< in execution order; at least two
  tensor::Shape dims;             ///< of its element-wise values
  /// The trailing axes [first_reduced, rank) are reduced; first_reduced == rank: none is.
  int first_reduced = 0;
  /// The convolution among the nodes, if there is one. Then none of them reduces.
  ir::NodeId convolution = {};
};

/// The groups of the top region.
class Fusion {
 public:
  Fusion() = default;
  Fusion(std::vector<FusedGroup> groups, std::size_t node_count);

  /// Returns the node's group; nullptr if it is bound by itself.
  [[nodiscard]] const FusedGroup* group_of(ir::NodeId id) const {
    if (id.index >= group_of_.size() || group_of_[id.index] == 0) return nullptr;
    return &groups_[group_of_[id.index] - 1];
  }

 private:
  std::vector<FusedGroup> groups_;
  std::vector<std::uint32_t> group_of_;  ///< by NodeId: 1 + the index of its group; 0: none
};

/// Finds the groups. Precondition: inference and plan_blocks() are done.
[[nodiscard]] Fusion find_fusion(const BindContext& ctx);

/// Emits the group's call. If no kernel takes the group, emits its convolution and the rest of it,
/// or its nodes one by one.
Expected<void> bind_group(BindContext& ctx, const FusedGroup& group);

}  // namespace scanloom::plan
