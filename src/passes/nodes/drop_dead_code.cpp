// Removes nodes that nothing reads, and unused ports of loops and branches, such as states that
// feed only each other. It is the last of the repeated passes, since the others do not remove the
// nodes that they replace.
#include <algorithm>

#include "ir/op_def.h"
#include "ir/walk.h"
#include "passes/analysis/loop_facts.h"
#include "passes/pass.h"
#include "passes/rewrite/ports.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Region;
using ir::RegionId;
using ir::ValueId;

/// A check must be able to fail the run even if nothing reads it. Other nodes that may fail are
/// removed if nothing reads them: their results are not missed.
bool must_run(const Node& node) {
  return node.op->must_run || node.op->effects == ir::Effects::state;
}

/// Returns how many slices a scanned port has, if sizes determine it.
std::optional<ir::Dim> slice_count(const Module& module, const Node& loop, std::size_t scanned) {
  if (const auto known = known_slices(module, loop, scanned)) return ir::Dim(*known);
  const ir::ScannedPort& port = loop.loop->scanned[scanned];
  const ir::Type& type = module.value(loop.inputs[loop.loop->first_scanned_input() + scanned]).type;
  const bool is_whole = port.part == 1 && ((port.start == 0 && port.stride == 1) ||
                                           (port.start == -1 && port.stride == -1));
  if (!is_whole || !sizes_are_sure(module, type) || port.axis >= type.rank()) return std::nullopt;
  return type.dims[static_cast<std::size_t>(port.axis)];
}

/// Everything that the outputs depend on, found backwards from them.
class Liveness {
 public:
  explicit Liveness(const Module& module)
      : module_(module),
        uses_(ir::count_uses(module)),
        values_(module.value_count()),
        nodes_(module.node_count()) {}

  void run() {
    for (const ValueId yield : module_.region(module_.top()).yields) mark(yield);
    for (const RegionId region : regions_outer_first(module_, module_.top()))
      for (const NodeId node : module_.region(region).nodes)
        if (must_run(module_.node(node))) mark_around(node);
    while (!pending_.empty()) {
      const ValueId value = pending_.back();
      pending_.pop_back();
      follow(value);
    }
  }

  [[nodiscard]] bool value(ValueId id) const { return values_[id.index]; }
  [[nodiscard]] bool node(NodeId id) const { return nodes_[id.index]; }

 private:
  void mark(ValueId id) {
    if (!id.valid() || values_[id.index]) return;
    values_[id.index] = true;
    pending_.push_back(id);
  }

  /// Marks the node and all nodes that decide whether it runs.
  void mark_around(NodeId id) {
    for (; id.valid() && !nodes_[id.index]; id = module_.region(module_.node(id).parent).owner)
      mark_node(id);
  }

  void mark_node(NodeId id) {
    if (nodes_[id.index]) return;
    nodes_[id.index] = true;
    const Node& node = module_.node(id);
    if (node.op == &ir::loop_op) return mark_controls(node);
    if (node.op == &ir::branch_op) return mark(node.inputs[0]);
    for (const ValueId input : node.inputs) mark(input);
  }

  // Without a trip count, or with one that means "no limit", the scanned values decide the number
  // of steps: one of all that certainly have equally many slices suffices.
  void mark_controls(const Node& node) {
    const LoopPorts& ports = *node.loop;
    for (std::size_t i = 0; i < ports.first_captured_input(); ++i) mark(node.inputs[i]);
    const Region& body = module_.region(node.regions[0]);
    if (ports.has_keep_going) mark(body.yields[0]);
    if (ports.has_trip_count && !counts_without_end(module_, node)) return;
    for (std::size_t i = 0; i < ports.scanned.size(); ++i)
      if (deciding_port(node, i) == i) mark(body.args[ports.captured + ports.carried + i]);
  }

  /// Returns the first scanned port whose slices are read among those with certainly as many slices
  /// as port i (including i), or the first of all.
  [[nodiscard]] std::size_t deciding_port(const Node& node, std::size_t i) const {
    const LoopPorts& ports = *node.loop;
    const Region& body = module_.region(node.regions[0]);
    const auto own = slice_count(module_, node, i);
    if (!own) return i;
    std::optional<std::size_t> first;
    for (std::size_t other = 0; other < ports.scanned.size(); ++other) {
      if (slice_count(module_, node, other) != own) continue;
      if (uses_[body.args[ports.captured + ports.carried + other].index] > 0) return other;
      if (!first) first = other;
    }
    return *first;
  }

  void follow(ValueId id) {
    const ir::Value& value = module_.value(id);
    if (!value.producer.valid()) return follow_argument(value);
    mark_node(value.producer);
    const Node& node = module_.node(value.producer);
    if (node.op == &ir::loop_op) {
      const LoopPorts& ports = *node.loop;
      mark(module_.region(node.regions[0]).yields[ports.first_carried_yield() + value.index]);
      if (value.index < ports.carried) mark(node.inputs[ports.first_carried_input() + value.index]);
    } else if (node.op == &ir::branch_op) {
      for (const RegionId side : node.regions) mark(module_.region(side).yields[value.index]);
    }
  }

  void follow_argument(const ir::Value& value) {
    const Region& region = module_.region(value.region);
    if (!region.owner.valid()) return;
    const Node& owner = module_.node(region.owner);
    if (owner.op != &ir::loop_op) return mark(owner.inputs[value.index + 1]);
    const LoopPorts& ports = *owner.loop;
    mark(owner.inputs[ports.first_captured_input() + value.index]);
    const bool carried =
        value.index >= ports.captured && value.index < ports.captured + ports.carried;
    if (carried) mark(region.yields[ports.first_carried_yield() + value.index - ports.captured]);
  }

  const Module& module_;
  const std::vector<std::uint32_t> uses_;
  std::vector<bool> values_, nodes_;
  std::vector<ValueId> pending_;
};

Change drop_loop_ports(Module& module, NodeId id, const Liveness& live) {
  const Node& node = module.node(id);
  const LoopPorts& ports = *node.loop;
  const Region& body = module.region(node.regions[0]);
  KeptPorts kept(ports);
  for (std::size_t i = 0; i < ports.captured; ++i) kept.captured[i] = live.value(body.args[i]);
  for (std::size_t i = 0; i < ports.carried; ++i)
    kept.carried[i] = live.value(node.outputs[i]) || live.value(body.args[ports.captured + i]);
  for (std::size_t i = 0; i < ports.scanned.size(); ++i)
    kept.scanned[i] = live.value(body.args[ports.captured + ports.carried + i]);
  for (std::size_t i = 0; i < ports.stacked.size(); ++i)
    kept.stacked[i] = live.value(node.outputs[ports.carried + i]);
  if (kept.all()) return {};
  keep_ports(module, id, kept);
  return {.changed = true};
}

Change drop_branch_ports(Module& module, NodeId id, const Liveness& live) {
  const Node& node = module.node(id);
  std::vector<bool> captured(node.inputs.size() - 1), results(node.outputs.size());
  for (std::size_t i = 0; i < captured.size(); ++i)
    captured[i] = std::ranges::any_of(
        node.regions, [&](RegionId side) { return live.value(module.region(side).args[i]); });
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = live.value(node.outputs[i]);
  const bool all = std::ranges::find(captured, false) == captured.end() &&
                   std::ranges::find(results, false) == results.end();
  if (all) return {};
  keep_branch_ports(module, id, captured, results);
  return {.changed = true};
}

}  // namespace

Expected<Change> drop_dead_code(ir::Module& module) {
  Liveness live(module);
  live.run();
  Change change;
  for (const RegionId region : regions_outer_first(module, module.top())) {
    std::vector<NodeId>& nodes = module.region(region).nodes;
    change.changed |= std::erase_if(nodes, [&](NodeId node) { return !live.node(node); }) > 0;
  }
  for (const NodeId id : nodes_with_regions(module, Order::outer_first))
    change |= module.node(id).op == &ir::loop_op ? drop_loop_ports(module, id, live)
                                                 : drop_branch_ports(module, id, live);
  return change;
}

}  // namespace scanloom::passes
