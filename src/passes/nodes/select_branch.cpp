// Replaces a branch whose regions are small and cannot fail by both of them and an element-wise
// choice: a body without branches can become machine code (plan/bind/body_legality.cpp). Only
// within loops, where that matters, and only for small values. It runs after the passes that make
// regions smaller and after simplify_ports, which finds results that are the same in both regions.
#include <algorithm>
#include <utility>

#include "ops/ops.h"
#include "ops/pointwise.h"
#include "passes/analysis/loop_facts.h"
#include "passes/rewrite/rewriter.h"
#include "tensor/scalar_eval.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// The limit for both regions together.
constexpr std::size_t kMaxRegionNodes = 8;
/// The limit for each value: computing it takes no longer than a node that a loop steps over
/// anyway.
constexpr std::int64_t kMaxBranchElements = 256;

bool is_small(const Type& type) {
  if (!type.is_tensor() || !type.is_static()) return false;
  const auto elements = type.shape().checked_elements();
  return elements && *elements <= kMaxBranchElements;
}

bool can_select(DType dtype) {
  const std::optional<DType> operands[] = {DType::boolean, dtype, dtype};
  return tensor::supports(ops::pointwise_program(ops::where_op, operands, {}));
}

class Selector {
 public:
  Selector(Module& module, ir::ValueMap& map, NodeId branch)
      : module_(module), map_(map), branch_(branch) {}

  [[nodiscard]] bool applies() const {
    const Node& node = module_.node(branch_);
    const Type& condition = module_.value(node.inputs[0]).type;
    if (!is_small(condition) || condition.shape().elements() != 1) return false;
    if (constant_of(module_, node.inputs[0]) != nullptr) return false;
    std::size_t count = 0;
    for (const ir::RegionId side : node.regions) {
      count += count_work(side);
      if (count > kMaxRegionNodes || !is_cheap(side)) return false;
    }
    return results_agree() && is_in_loop(module_, node.parent);
  }

  /// Adds the nodes of both regions, then the choices, to the branch's region.
  Expected<void> run() {
    const Node node = module_.node(branch_);  // by value: adding nodes may move it
    for (const ir::RegionId side : node.regions) move_here(side, node);
    ir::Builder builder(module_, node.parent);
    builder.set_location(node.location);
    SCANLOOM_TRY(const ValueId condition, scalar_condition(builder, node.inputs[0]));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId a = yielded(node, 0, i), b = yielded(node, 1, i);
      SCANLOOM_TRY(const ValueId chosen, builder.op(ops::where_op, {condition, a, b}));
      map_.set(node.outputs[i], chosen);
    }
    return {};
  }

 private:
  [[nodiscard]] std::size_t count_work(ir::RegionId side) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(module_.region(side).nodes,
                              [&](NodeId id) { return module_.node(id).op != &ir::constant_op; }));
  }

  [[nodiscard]] bool is_cheap(ir::RegionId side) const {
    return std::ranges::all_of(module_.region(side).nodes, [&](NodeId id) {
      const Node& node = module_.node(id);
      const bool pointwise =
          node.op == &ir::constant_op || node.op == &ops::squeeze_op ||
          (node.op->access == ir::Access::pointwise && node.op->effects == ir::Effects::pure);
      return pointwise && std::ranges::all_of(node.outputs, [&](ValueId output) {
               return is_small(module_.value(output).type);
             });
    });
  }

  /// Whether each result has the same type and size in both regions.
  [[nodiscard]] bool results_agree() const {
    const Node& node = module_.node(branch_);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const Type& type = module_.value(module_.region(node.regions[0]).yields[i]).type;
      const Type& other = module_.value(module_.region(node.regions[1]).yields[i]).type;
      if (type != other || !is_small(type) || !can_select(type.dtype)) return false;
    }
    return true;
  }

  void move_here(ir::RegionId side, const Node& node) {
    ir::Region& region = module_.region(side);
    for (std::size_t i = 0; i < region.args.size(); ++i)
      map_.set(region.args[i], node.inputs[i + 1]);
    for (const NodeId id : region.nodes) {
      ir::move_node(module_, id, node.parent);
      map_.apply(module_.node(id).inputs);
      module_.region(node.parent).nodes.push_back(id);
    }
  }

  [[nodiscard]] ValueId yielded(const Node& node, std::size_t side, std::size_t result) const {
    return map_[module_.region(node.regions[side]).yields[result]];
  }

  /// Drops all axes, so that the result has those of the regions' values.
  Expected<ValueId> scalar_condition(ir::Builder& builder, ValueId condition) {
    const ValueId value = map_[condition];
    const int rank = module_.value(value).type.rank();
    if (rank == 0) return value;
    std::vector<std::int64_t> axes;
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return builder.op(ops::squeeze_op, {value}, {{"axes", std::move(axes)}});
  }

  Module& module_;
  ir::ValueMap& map_;
  const NodeId branch_;
};

}  // namespace

// Inner branches first: a region without branches may be next. Each region's list is rebuilt.
Expected<Change> select_branch(ir::Module& module) {
  Change change;
  ir::ValueMap map(module);
  for (const ir::RegionId region : regions_inner_first(module, module.top())) {
    const std::vector<NodeId> nodes = std::exchange(module.region(region).nodes, {});
    for (const NodeId id : nodes) {
      Selector selector(module, map, id);
      if (module.node(id).op != &ir::branch_op || !selector.applies()) {
        module.region(region).nodes.push_back(id);
        continue;
      }
      SCANLOOM_CHECK_OK(selector.run());
      change.changed = true;
    }
  }
  map.apply(module);
  return change;
}

}  // namespace scanloom::passes
