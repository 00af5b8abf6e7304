#include "passes/row_flow.h"

#include <algorithm>

namespace scanloom::passes {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

RowFlow::RowFlow(const Module& module, NodeId loop, NodeId to) : module_(module) {
  const Node& node = module_.node(loop);
  others_.insert(node.outputs.begin(), node.outputs.begin() + node.loop->carried);
  for (std::size_t i = 0; i < node.loop->stacked.size(); ++i) add_stack(loop, i);
  const std::vector<NodeId>& nodes = module_.region(node.parent).nodes;
  for (auto id = std::ranges::find(nodes, loop) + 1; *id != to; ++id) follow(*id);
}

const RowSequence* RowFlow::find(ValueId value) const {
  const auto found = sequences_.find(value);
  return found != sequences_.end() ? &found->second : nullptr;
}

/// A row that is concatenated is an element if it has size 1 there.
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
