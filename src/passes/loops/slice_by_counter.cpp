// Turns what a step gathers from a captured tensor by the number of the step into a slice of a
// scanned tensor: a moving view without an index to check, which batch_over_time, streams and
// compiled loops understand. Models that only have a Loop with a counter express scans this way.
// Only if there is certainly an element for each step, so that no index can be outside.
#include <algorithm>
#include <optional>

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/over_time.h"
#include "passes/analysis/step_number.h"
#include "passes/pass.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

class Slicer {
 public:
  Slicer(Module& module, NodeId loop, const std::vector<ir::Dim>& counts)
      : module_(module), loop_(loop), counts_(counts) {}

  bool run() {
    bool changed = false;
    const std::vector<NodeId> nodes = module_.region(node().regions[0]).nodes;
    for (const NodeId id : nodes)
      if (const auto axis = axis_picked(module_.node(id))) {
        slice(id, *axis);
        changed = true;
      }
    return changed;
  }

 private:
  [[nodiscard]] const Node& node() const { return module_.node(loop_); }

  [[nodiscard]] std::optional<std::size_t> captured_argument(ValueId value) const {
    return body_argument(module_, node(), value, 0, node().loop->captured);
  }

  /// Returns the axis along which a gather picks the element of the step, if it does.
  [[nodiscard]] std::optional<int> axis_picked(const Node& gather) const {
    if (gather.op != &ops::gather_op) return std::nullopt;
    const auto captured = captured_argument(gather.inputs[0]);
    if (!captured || !is_step_number(module_, loop_, gather.inputs[1])) return std::nullopt;
    const ir::Type& type = module_.value(gather.inputs[0]).type;
    const ir::Type& index = module_.value(gather.inputs[1]).type;
    if (!type.is_tensor() || !type.ranked || !index.ranked || index.rank() > 1) return std::nullopt;
    const auto axis = tensor::normalise_axis(attr_of(gather, "axis").integer(), type.rank());
    if (!axis || !has_all(type.dims[static_cast<std::size_t>(*axis)])) return std::nullopt;
    return static_cast<int>(*axis);
  }

  [[nodiscard]] bool has_all(ir::Dim size) const {
    return has_element_per_step(module_, node(), counts_, size);
  }

  /// Replaces the gather by what remains to be done with the slice.
  void slice(NodeId id, int axis) {
    const auto captured = captured_argument(module_.node(id).inputs[0]);
    const ValueId outer = node().inputs[node().loop->first_captured_input() + *captured];
    const ir::ScannedPort port{.axis = axis};
    const ValueId slice = add_scanned(module_, loop_, {{outer}}, {{port}})[0];
    const bool keeps_axis = module_.value(module_.node(id).inputs[1]).type.rank() == 1;
    Node& gather = module_.node(id);
    gather.inputs = {slice};
    gather.attrs.clear();
    gather.op = &ops::identity_op;
    if (!keeps_axis) return;
    gather.op = &ops::unsqueeze_op;
    gather.attrs = {tensor::Attr(std::vector<std::int64_t>{axis})};
  }

  Module& module_;
  const NodeId loop_;
  const std::vector<ir::Dim>& counts_;
};

bool has_gather(const Module& module, NodeId loop) {
  return std::ranges::any_of(module.region(module.node(loop).regions[0]).nodes, [&](NodeId inner) {
    return module.node(inner).op == &ops::gather_op;
  });
}

}  // namespace

Expected<Change> slice_by_counter(ir::Module& module) {
  std::vector<NodeId> loops = nodes_with_regions(module, Order::outer_first);
  std::erase_if(loops, [&](NodeId id) {
    return module.node(id).op != &ir::loop_op || !has_gather(module, id);
  });
  if (loops.empty()) return Change{};
  const KnownTripCounts counts(module);
  Change change;
  for (const NodeId loop : loops) change.changed |= Slicer(module, loop, counts.of(loop)).run();
  return change;
}

}  // namespace scanloom::passes
