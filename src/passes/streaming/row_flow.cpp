#include "passes/streaming/row_flow.h"

#include <algorithm>

namespace scanloom::passes {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

void NodeOrder::enter(ir::RegionId region) {
  nodes_ = module_.region(region).nodes;
  positions_.resize(module_.node_count());
  marks_.resize(module_.node_count());
  for (std::size_t i = 0; i < nodes_.size(); ++i) positions_[nodes_[i].index] = i;
}

std::vector<NodeId> NodeOrder::between(NodeId loop, NodeId to) {
  ++round_;
  std::vector<NodeId> found{to};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<ValueId>& inputs = module_.node(found[i]).inputs;
    visited_ += 1 + inputs.size();
    for (const ValueId input : inputs) {
      const NodeId maker = input.valid() ? module_.value(input).producer : NodeId();
      if (maker.valid() && positions_[maker.index] > positions_[loop.index] && mark(maker))
        found.push_back(maker);
    }
  }
  found.erase(found.begin());
  std::ranges::sort(found, {}, [&](NodeId id) { return positions_[id.index]; });
  return found;
}

/// Moves the loop after all nodes between the two that do not depend on it.
void NodeOrder::join(NodeId loop, NodeId to) {
  ++round_;
  mark(loop);
  std::size_t free = positions_[loop.index];
  std::vector<NodeId> dependents{loop};
  const auto depends = [&](ValueId input) {
    const NodeId maker = input.valid() ? module_.value(input).producer : NodeId();
    return maker.valid() && marks_[maker.index] == round_;
  };
  for (std::size_t i = free + 1; i < positions_[to.index]; ++i) {
    const NodeId id = nodes_[i];
    visited_ += 1 + module_.node(id).inputs.size();
    if (std::ranges::any_of(module_.node(id).inputs, depends)) {
      mark(id);
      dependents.push_back(id);
    } else {
      put(id, free++);
    }
  }
  for (const NodeId id : dependents) put(id, free++);
}

void NodeOrder::put(NodeId id, std::size_t position) {
  nodes_[position] = id;
  positions_[id.index] = position;
}

RowFlow::RowFlow(const Module& module, NodeId loop, const std::vector<NodeId>& between)
    : module_(module) {
  const Node& node = module_.node(loop);
  others_.insert(node.outputs.begin(), node.outputs.begin() + node.loop->carried);
  for (std::size_t i = 0; i < node.loop->stacked.size(); ++i) add_stack(loop, i);
  for (const NodeId id : between) follow(id);
}

const RowSequence* RowFlow::find(ValueId value) const {
  const auto found = sequences_.find(value);
  return found != sequences_.end() ? &found->second : nullptr;
}

/// A concatenated row is an element of the sequence if it has size 1 along the axis.
void RowFlow::add_stack(NodeId loop, std::size_t stacked) {
  const Node& node = module_.node(loop);
  const ir::StackedPort& port = node.loop->stacked[stacked];
  const ir::Region& body = module_.region(node.regions[0]);
  const ValueId stack = node.outputs[node.loop->carried + stacked];
  const Type& type = module_.value(stack).type;
  const Type& row = module_.value(body.yields[node.loop->first_stacked_yield() + stacked]).type;
  const auto axis = static_cast<std::size_t>(port.axis);
  if (type.is_tensor() && type.ranked && (port.insert || row.dims[axis] == ir::Dim(1)))
    sequences_[stack] = {
        .axis = static_cast<int>(axis), .reverse = port.reverse, .steps = type.dims[axis]};
  else
    others_.insert(stack);
}

void RowFlow::follow(NodeId id) {
  const Node& node = module_.node(id);
  if (std::ranges::none_of(node.inputs, [&](ValueId input) { return depends(input); })) return;
  if (auto sequence = sequence_made_by(id))
    sequences_[node.outputs[0]] = *std::move(sequence);
  else
    others_.insert(node.outputs.begin(), node.outputs.end());
}

std::optional<RowSequence> RowFlow::sequence_made_by(NodeId id) const {
  const Node& node = module_.node(id);
  const RowSequence* any = nullptr;
  std::vector<int> axes;
  for (const ValueId input : node.inputs) {
    const RowSequence* sequence = find(input);
    axes.push_back(sequence != nullptr ? sequence->axis : StepsOfNode::kSame);
    if (sequence == nullptr && depends(input)) return std::nullopt;
    if (sequence == nullptr) continue;
    if (any != nullptr && (any->reverse != sequence->reverse || any->steps != sequence->steps))
      return std::nullopt;
    any = sequence;
  }
  auto lowers = steps_of_node(module_, node, axes, any->steps);
  if (!lowers) return std::nullopt;
  return RowSequence{.axis = lowers->result,
                     .reverse = any->reverse,
                     .steps = any->steps,
                     .maker = id,
                     .lowers = *std::move(lowers)};
}

}  // namespace scanloom::passes
