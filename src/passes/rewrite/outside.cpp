#include "passes/rewrite/outside.h"

#include <algorithm>

namespace scanloom::passes {

using ir::Node;
using ir::NodeId;
using ir::ValueId;

Outside::Outside(ir::Module& module, NodeId loop)
    : module_(module),
      loop_(loop),
      region_(module.node(loop).parent),
      before_(module.region(region_).nodes.size()),
      builder_(module, region_) {
  const Node& node = module.node(loop);
  builder_.set_location(node.location);
  for (std::size_t i = 0; i < node.loop->captured; ++i)
    set(module.region(node.regions[0]).args[i],
        {node.inputs[node.loop->first_captured_input() + i]});
}

Expected<void> Outside::add(NodeId id, ir::Dim steps) {
  const std::vector<ValueId> inputs = module_.node(id).inputs;
  const std::vector<ValueId> outputs = module_.node(id).outputs;
  std::vector<Lifted> operands;
  for (const ValueId input : inputs) operands.push_back(input.valid() ? map_.at(input) : Lifted{});
  if (std::ranges::none_of(operands, &Lifted::is_sequence)) {
    std::vector<ValueId> values;
    for (const Lifted& operand : operands) values.push_back(operand.value);
    const NodeId made = copy(id, std::move(values));
    for (std::size_t i = 0; i < outputs.size(); ++i)
      set(outputs[i], {module_.node(made).outputs[i]});
    return {};
  }
  SCANLOOM_TRY(const std::vector<Lifted> results, lift(builder_, id, operands));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!results[i].value.valid()) continue;
    SCANLOOM_CHECK_OK(check_type(outputs[i], results[i], steps));
    set(outputs[i], results[i]);
  }
  return {};
}

Expected<void> Outside::check_type(ValueId inside, const Lifted& lifted, ir::Dim steps) const {
  const ir::Type wanted = sequence_type(module_.value(inside).type, lifted.axis, steps);
  const ir::Type& made = module_.value(lifted.value).type;
  if (made == wanted) return {};
  return fail(Code::internal, "{} becomes {} outside of its loop, not {}", module_.describe(inside),
              to_string(made, module_.dims), to_string(wanted, module_.dims));
}

NodeId Outside::copy(NodeId id, std::vector<ValueId> inputs) {
  const Node node = module_.node(id);  // by value: adding nodes may move it
  std::vector<ir::Type> types;
  for (const ValueId output : node.outputs) types.push_back(module_.value(output).type);
  const NodeId made = module_.add_node(region_, *node.op, std::move(inputs), node.attrs,
                                       std::move(types), node.location);
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    module_.value(module_.node(made).outputs[i]).name = module_.value(node.outputs[i]).name;
  return made;
}

// Search from the end: during a sweep over loops (rewriter.h) the loop is among the last nodes.
void Outside::put(std::ptrdiff_t offset) {
  std::vector<NodeId>& nodes = module_.region(region_).nodes;
  const auto after_loop = std::find(nodes.rbegin(), nodes.rend(), loop_).base();
  std::rotate(after_loop - 1 + offset, nodes.begin() + static_cast<std::ptrdiff_t>(before_),
              nodes.end());
}

void Outside::take_back() { module_.region(region_).nodes.resize(before_); }

}  // namespace scanloom::passes
