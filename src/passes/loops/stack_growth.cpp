// Replaces values that grow by one row per step by a stack: a sequence that is concatenated later,
// as exporters write lists of rows, and a tensor to which each step concatenates a row. Rows are
// written to their final position, and the loop can be compiled. It runs before the passes on
// stacks and before drop_dead_code, which removes the growing value.
//
// Concatenating an empty sequence is an error, a stack without rows is not. So the trip count is
// checked, in the name of the node that concatenates the sequence.
#include <algorithm>
#include <map>
#include <utility>

#include "ops/ops.h"
#include "passes/analysis/loop_facts.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// The loops of one region.
class Stacker {
 public:
  Stacker(Module& module, ir::RegionId region, const std::vector<std::uint32_t>& uses,
          ir::ValueMap& map)
      : module_(module), region_(region), uses_(uses), map_(map) {
    for (const NodeId id : module.region(region).nodes)
      if (module.node(id).op == &ops::sequence_concat_op)
        readers_[module.node(id).inputs[0].index].push_back(id);
  }

  Change run() {
    const std::vector<NodeId> nodes = std::exchange(module_.region(region_).nodes, {});
    for (const NodeId id : nodes) {
      if (module_.node(id).op == &ir::loop_op) visit(id);
      module_.region(region_).nodes.push_back(id);
      if (module_.node(id).op == &ir::loop_op) stack_tensors(id);
    }
    std::ranges::sort(replaced_);
    std::erase_if(module_.region(region_).nodes,
                  [&](NodeId id) { return std::ranges::binary_search(replaced_, id); });
    return change_;
  }

 private:
  void visit(NodeId loop) {
    const ir::LoopPorts ports = *module_.node(loop).loop;
    const bool starts = !ports.has_condition ||
                        known_boolean(module_, module_.node(loop).inputs[1]).value_or(false);
    if (!ports.has_trip_count || !starts) return;
    for (std::uint32_t i = 0; i < ports.carried; ++i) {
      const auto readers = readers_.find(module_.node(loop).outputs[i].index);
      if (readers == readers_.end() || uses_[readers->first] != readers->second.size()) continue;
      const ValueId item = appended_item(loop, i);
      const auto port = item.valid() ? port_of(readers->second, item) : std::nullopt;
      if (port) stack(loop, item, *port, readers->second);
    }
  }

  /// Returns what each step appends to carried value i, an initially empty sequence that nothing
  /// else reads.
  [[nodiscard]] ValueId appended_item(NodeId loop, std::uint32_t i) const {
    const Node& node = module_.node(loop);
    const ir::Region& body = module_.region(node.regions[0]);
    const ValueId argument = body.args[node.loop->captured + i];
    const ValueId yield = body.yields[node.loop->first_carried_yield() + i];
    const ValueId initial = node.inputs[node.loop->first_carried_input() + i];
    const Node* const insert = made_by(module_, yield, ops::sequence_insert_op);
    if (insert == nullptr || made_by(module_, initial, ops::sequence_empty_op) == nullptr)
      return {};
    const bool at_end = insert->inputs.size() < 3 || !insert->inputs[2].valid();
    const bool alone = uses_[argument.index] == 1 && uses_[yield.index] == 1;
    return insert->inputs[0] == argument && at_end && alone ? insert->inputs[1] : ValueId{};
  }

  /// Returns the port that stacks the way all of the nodes concatenate; nullopt if there is none.
  [[nodiscard]] std::optional<ir::StackedPort> port_of(const std::vector<NodeId>& readers,
                                                       ValueId item) const {
    const Type& row = module_.value(item).type;
    if (!row.is_tensor() || !row.ranked || row.dtype == DType::string) return std::nullopt;
    std::optional<ir::StackedPort> common;
    for (const NodeId id : readers) {
      const Node& concat = module_.node(id);
      const bool insert = attr_of(concat, "new_axis").integer() != 0;
      const int rank = row.rank() + (insert ? 1 : 0);
      const auto axis = tensor::normalise_axis(attr_of(concat, "axis").integer(), rank);
      if (!axis || rank > tensor::kMaxRank) return std::nullopt;
      const ir::StackedPort port{.axis = *axis, .insert = insert};
      if (common && (common->axis != port.axis || common->insert != port.insert))
        return std::nullopt;
      common = port;
    }
    return common;
  }

  void stack(NodeId loop, ValueId item, const ir::StackedPort& port,
             const std::vector<NodeId>& readers) {
    // The region's list ends before the loop.
    ir::Builder builder(module_, region_);
    builder.set_location(module_.node(readers[0]).location);
    const ValueId trip = module_.node(loop).inputs[0];
    const ValueId one = builder.constant(tensor::Tensor::scalar<std::int64_t>(1));
    const auto least = builder.op(ops::max_op, {trip, one});
    const auto checked =
        least ? builder.op(ops::check_equal_op, {trip, *least},
                           {{"text", "there is nothing to concatenate: the loop takes {} steps"}})
              : least;
    if (!checked) return;
    module_.node(loop).inputs[0] = *checked;
    Type rows = module_.value(item).type;
    const auto at = rows.dims.begin() + port.axis;
    if (port.insert)
      rows.dims.insert(at, module_.dims.fresh());
    else
      *at = module_.dims.fresh();
    const ValueId stacked = add_stacked(module_, loop, {&item, 1}, {&port, 1}, {&rows, 1})[0];
    for (const NodeId id : readers) {
      map_.set(module_.node(id).outputs[0], stacked);
      replaced_.push_back(id);
    }
    change_.changed = true;
  }

  struct Growth {
    ValueId row;
    int axis = 0;
    bool at_front = false;
  };

  /// Returns what each step concatenates to carried value i, a tensor that nothing else in it
  /// reads.
  [[nodiscard]] std::optional<Growth> growth_of(NodeId loop, std::uint32_t i) const {
    const Node& node = module_.node(loop);
    const ir::Region& body = module_.region(node.regions[0]);
    const ValueId argument = body.args[node.loop->captured + i];
    const ValueId yield = body.yields[node.loop->first_carried_yield() + i];
    const Node* const concat = made_by(module_, yield, ops::concat_op);
    // For a state whose sizes must not change, growing is an error.
    if (node.loop->fixed_sizes || concat == nullptr || concat->inputs.size() != 2 ||
        uses_[argument.index] != 1 || uses_[yield.index] != 1 || uses_[node.outputs[i].index] == 0)
      return std::nullopt;
    const bool at_front = concat->inputs[1] == argument;
    if (!at_front && concat->inputs[0] != argument) return std::nullopt;
    const ValueId row = concat->inputs[at_front ? 0 : 1];
    const Type& type = module_.value(row).type;
    const Type& initial = module_.value(node.inputs[node.loop->first_carried_input() + i]).type;
    const auto axis = tensor::normalise_axis(attr_of(*concat, "axis").integer(), type.rank());
    // Even without a step the rows must be compatible with the initial value.
    if (!axis || !sizes_are_sure(module_, type) || !initial.ranked ||
        initial.rank() != type.rank() || type.dtype == DType::string)
      return std::nullopt;
    for (int k = 0; k < type.rank(); ++k)
      if (k != *axis &&
          type.dims[static_cast<std::size_t>(k)] != initial.dims[static_cast<std::size_t>(k)])
        return std::nullopt;
    return Growth{row, *axis, at_front};
  }

  /// The region's list ends with the loop.
  void stack_tensors(NodeId loop) {
    for (std::uint32_t i = 0; i < module_.node(loop).loop->carried; ++i) {
      const auto growth = growth_of(loop, i);
      if (!growth) continue;
      const Node& node = module_.node(loop);
      const ValueId grown = node.outputs[i];
      const ValueId initial = node.inputs[node.loop->first_carried_input() + i];
      ir::Builder builder(module_, region_);
      builder.set_location(node.location);
      const ir::StackedPort port{
          .axis = growth->axis, .reverse = growth->at_front, .insert = false};
      Type rows = module_.value(growth->row).type;
      rows.dims[static_cast<std::size_t>(growth->axis)] = module_.dims.fresh();
      const ValueId stacked =
          add_stacked(module_, loop, {&growth->row, 1}, {&port, 1}, {&rows, 1})[0];
      std::vector<ValueId> parts{initial, stacked};
      if (growth->at_front) std::ranges::reverse(parts);
      const auto joined = builder.op(ops::concat_op, parts, {{"axis", growth->axis}});
      if (!joined) continue;
      map_.set(grown, *joined);
      change_.changed = true;
    }
  }

  Module& module_;
  const ir::RegionId region_;
  const std::vector<std::uint32_t>& uses_;
  ir::ValueMap& map_;
  std::map<std::uint32_t, std::vector<NodeId>> readers_;  ///< nodes that concatenate a value
  std::vector<NodeId> replaced_;
  Change change_;
};

}  // namespace

Expected<Change> stack_growth(ir::Module& module) {
  Change change;
  const std::vector<std::uint32_t> uses = ir::count_uses(module);
  ir::ValueMap map(module);
  for (const ir::RegionId region : regions_outer_first(module, module.top()))
    change |= Stacker(module, region, uses, map).run();
  if (change.changed) map.apply(module);
  return change;
}

}  // namespace scanloom::passes
