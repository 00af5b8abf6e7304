// Turns a captured constant into a constant of the body, so that folding, kernels and machine code
// see its value. Tensors are shared, so this copies nothing. It runs before the passes that look
// for constants.
#include <algorithm>

#include "ir/op_def.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::NodeId;
using ir::ValueId;

/// Adds it before the region's nodes, so that all can read it.
ValueId constant_in_front(Module& module, ir::RegionId region, ValueId constant) {
  const ir::Node& outer = module.node(module.value(constant).producer);
  const ir::LocationId location = outer.location;
  std::vector<ir::Attr> attrs = outer.attrs;
  ir::Type type = ir::Type::of(attrs[0].tensor().dtype(), attrs[0].tensor().shape());
  const NodeId inner =
      module.add_node(region, ir::constant_op, {}, std::move(attrs), {std::move(type)}, location);
  return module.node(inner).outputs[0];
}

/// Returns which of `count` captured values, starting at operand `first`, are not constants.
std::vector<bool> not_constant(const Module& module, NodeId id, std::size_t first,
                               std::size_t count) {
  std::vector<bool> kept(count);
  for (std::size_t i = 0; i < count; ++i)
    kept[i] = constant_of(module, module.node(id).inputs[first + i]) == nullptr;
  return kept;
}

void sink(Module& module, NodeId id, ir::RegionId region, std::size_t first,
          const std::vector<bool>& kept, ir::ValueMap& map) {
  const std::size_t before = module.region(region).nodes.size();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) continue;
    const ValueId outer = module.node(id).inputs[first + i];
    map.set(module.region(region).args[i], constant_in_front(module, region, outer));
  }
  std::vector<NodeId>& nodes = module.region(region).nodes;
  std::rotate(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(before), nodes.end());
  for (const NodeId node : nodes) map.apply(module.node(node).inputs);
  map.apply(module.region(region).yields);
}

}  // namespace

// Outer bodies first: a constant that sinks into one is a constant for the bodies inside it.
Expected<Change> sink_constants(ir::Module& module) {
  Change change;
  ir::ValueMap map(module);
  for (const NodeId id : nodes_with_regions(module, Order::outer_first)) {
    const bool is_loop = module.node(id).op == &ir::loop_op;
    const std::size_t first = is_loop ? module.node(id).loop->first_captured_input() : 1;
    const std::size_t count =
        is_loop ? module.node(id).loop->captured : module.node(id).inputs.size() - 1;
    const std::vector<bool> kept = not_constant(module, id, first, count);
    if (std::ranges::find(kept, false) == kept.end()) continue;
    change.changed = true;
    const std::vector<ir::RegionId> regions = module.node(id).regions;
    for (const ir::RegionId region : regions) sink(module, id, region, first, kept, map);
    if (is_loop) {
      KeptPorts ports(*module.node(id).loop);
      ports.captured = kept;
      keep_ports(module, id, ports);
    } else {
      keep_branch_ports(module, id, kept, std::vector<bool>(module.node(id).outputs.size(), true));
    }
  }
  return change;
}

}  // namespace scanloom::passes
