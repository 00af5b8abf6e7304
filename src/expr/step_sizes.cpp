#include "expr/step_sizes.h"

#include <algorithm>

#include "ops/ops.h"

namespace scanloom::expr {
namespace {

/// Whether the results' sizes follow from the elements of this operand.
bool decides_sizes(const Node& node, std::size_t operand) {
  switch (node.kind) {
    case Kind::loop:  // how often its state changes, and how many rows there are
      return operand < node.loop->ports.first_captured_input() || node.loop->ports.has_keep_going;
    case Kind::branch:
      return operand == 0;
    default:
      break;
  }
  const auto& operands = node.op->inputs;
  return operand < operands.size() && operands[operand].decides_sizes;
}

}  // namespace

StepSizes::StepSizes(const Body& body, const ir::LoopPorts& ports) {
  for (std::size_t i = ports.captured; i < body.args.size(); ++i)
    values_vary_.insert(body.args[i].node().get());
  for (const Node* node : reachable_in_any_form(body.yields))
    if (!node->inputs.empty()) visit(*node);
}

void StepSizes::visit(const Node& node) {
  const bool reads_sizes = node.op == &ops::dim_op || node.op == &ops::shape_op;
  bool value = false, size = false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Expr& x = node.inputs[i];
    value |= vary(x) || (!reads_sizes && value_varies(x));
    size |= vary(x) || (value_varies(x) && decides_sizes(node, i));
  }
  if (value) values_vary_.insert(&node);
  if (size) open_sizes_vary_.insert(&node);
}

bool StepSizes::vary(const Expr& x) const {
  return x.defined() && open_sizes_vary_.contains(x.node().get()) &&
         std::ranges::find(type_of(x).sizes, -1) != type_of(x).sizes.end();
}

}  // namespace scanloom::expr
