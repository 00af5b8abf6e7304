#include "passes/rewrite/lower.h"

#include <algorithm>

#include "ops/ops.h"
#include "passes/lifting/lift.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::Dim;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;
using Axes = std::vector<std::int64_t>;

constexpr int kSame = StepsOfNode::kSame;

Dim size_along(const Type& type, int axis) { return type.dims[static_cast<std::size_t>(axis)]; }

// --- pointwise operators

// Broadcasting counts axes from the last one, so equally many must follow the steps everywhere.
std::optional<StepsOfNode> steps_of_pointwise(const Module& module, const Node& node,
                                              const std::vector<int>& known, Dim steps) {
  if (!broadcasts_for_sure(module, node)) return std::nullopt;
  std::optional<int> trailing;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == kSame) continue;
    const int here = module.value(node.inputs[i]).type.rank() - 1 - known[i];
    if (trailing && *trailing != here) return std::nullopt;
    trailing = here;
  }
  const Type& result = module.value(node.outputs[0]).type;
  StepsOfNode found{known, result.rank() - 1 - *trailing};
  if (size_along(result, found.result) != steps) return std::nullopt;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] != kSame || !node.inputs[i].valid()) continue;
    const Type& type = module.value(node.inputs[i]).type;
    const int axis = type.rank() - 1 - *trailing;
    if (axis < 0 || size_along(type, axis) == Dim(1)) continue;
    if (size_along(type, axis) != steps) return std::nullopt;
    found.operands[i] = axis;
  }
  return found;
}

/// Drops the axis of size 1 where the sequences have their steps.
Expected<void> drop_step_axes(Builder& builder, const Type& result, const StepsOfNode& steps,
                              std::vector<ValueId>& operands) {
  const int trailing = result.rank() - 1 - steps.result;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (steps.operands[i] != kSame || !operands[i].valid()) continue;
    const std::int64_t axis = builder.module().value(operands[i]).type.rank() - 1 - trailing;
    if (axis < 0) continue;
    SCANLOOM_TRY(operands[i], builder.op(ops::squeeze_op, {operands[i]}, {{"axes", Axes{axis}}}));
  }
  return {};
}

}  // namespace

std::optional<StepsOfNode> steps_of_node(const Module& module, const Node& node,
                                         const std::vector<int>& known, Dim steps) {
  const auto is_ranked = [&](ValueId value) {
    return !value.valid() ||
           (module.value(value).type.is_tensor() && module.value(value).type.ranked);
  };
  if (node.op->effects != ir::Effects::pure || node.outputs.size() != 1 ||
      !std::ranges::all_of(node.inputs, is_ranked) || !is_ranked(node.outputs[0]))
    return std::nullopt;
  if (node.op->scalar != nullptr) return steps_of_pointwise(module, node, known, steps);
  if (known.empty() || known[0] == kSame) return std::nullopt;
  if (node.op->lowering.axis == nullptr) return std::nullopt;
  const auto result = node.op->lowering.axis(module, node, known[0]);
  if (!result) return std::nullopt;
  StepsOfNode found{{known[0]}, *result};
  found.operands.resize(known.size(), kSame);
  return found;
}

Expected<ValueId> lower(Builder& builder, ir::NodeId id, const StepsOfNode& steps,
                        std::vector<ValueId> operands) {
  const Node node = builder.module().node(id);  // by value: adding nodes may move it
  const Type result = builder.module().value(node.outputs[0]).type;
  builder.set_location(node.location);
  if (node.op->scalar != nullptr) {
    SCANLOOM_CHECK_OK(drop_step_axes(builder, result, steps, operands));
    return builder.op(*node.op, std::move(operands), attrs_of(node));
  }
  return node.op->lowering.lower(builder, node, operands[0], steps.operands[0], steps.result);
}

}  // namespace scanloom::passes
