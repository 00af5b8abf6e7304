// Lifting of operators that work along axes of their own: only the axes are renumbered.
#include <algorithm>
#include <numeric>

#include "ops/ops.h"
#include "passes/lifting/lift_rules.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Builder;
using ir::Module;
using ir::Node;
using ir::ValueId;
using Operands = std::vector<Lifted>;

namespace {

/// Returns the axes that a reduction reduces, sorted; nullopt if an operand names them.
std::optional<std::vector<int>> reduced_axes(const Module& module, const Node& node) {
  const int rank = type_of(module, node).rank();
  if (node.inputs.size() > 1 && node.inputs[1].valid()) return std::nullopt;
  const ir::Attr& attr = attr_of(node, "axes");
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (attr.present()) {
    axes.clear();
    for (const std::int64_t axis : attr.integers()) {
      const auto normal = tensor::normalise_axis(axis, rank);
      if (!normal) return std::nullopt;
      axes.push_back(*normal);
    }
    std::ranges::sort(axes);
  }
  return axes;
}

/// Returns the axis of a cumulative operator; nullopt if it is not known, or outside.
std::optional<int> cumulated_axis(const Module& module, const Node& node) {
  const auto named = integers_of(module, node, 1);
  if (!named || named->size() != 1) return std::nullopt;
  return tensor::normalise_axis(named->front(), type_of(module, node).rank());
}

/// Returns the axis of a sequence that corresponds to an axis of its elements.
int beside_steps(int axis, int steps) { return axis < steps ? axis : axis + 1; }

std::vector<ValueId> values_of(const Operands& operands) {
  std::vector<ValueId> values;
  for (const Lifted& operand : operands) values.push_back(operand.value);
  return values;
}

}  // namespace

bool can_lift_reduce(Module& module, const Node& node, const std::vector<bool>&) {
  const auto axes = reduced_axes(module, node);
  return axes && !axes->empty();
}

Expected<Lifted> lift_reduce(Builder& builder, const Node& node, const Operands& operands) {
  const int steps = operands[0].axis;
  int result = steps;
  std::vector<std::int64_t> axes;
  std::vector<ir::NamedAttr> attrs = attrs_but(node, "axes");
  std::erase_if(attrs, [](const ir::NamedAttr& attr) { return attr.name == "empty_is_all"; });
  const bool keeps = attr_of(node, "keepdims").integer() != 0;
  const std::vector<int> named = *reduced_axes(builder.module(), node);
  for (const int reduced : named) {
    axes.push_back(beside_steps(reduced, steps));
    if (!keeps && reduced < steps) --result;
  }
  attrs.push_back({"axes", std::move(axes)});
  SCANLOOM_TRY(const ValueId value, builder.op(*node.op, {operands[0].value}, std::move(attrs)));
  return Lifted{value, result};
}

bool can_lift_along_axis(Module& module, const Node& node, const std::vector<bool>& varies) {
  return only_first_varies(varies) && axis_of(module, node).has_value();
}

// Asking for more elements than the axis has would be an error that no step may reach.
bool can_lift_topk(Module& module, const Node& node, const std::vector<bool>& varies) {
  if (!can_lift_along_axis(module, node, varies)) return false;
  const auto axis = static_cast<std::size_t>(*axis_of(module, node));
  return type_of(module, node).dims[axis].is_constant() && integers_of(module, node, 1).has_value();
}

// There must be a scale for each index, which is known only if the sizes are numbers.
bool can_lift_quantization(Module& module, const Node& node, const std::vector<bool>& varies) {
  if (!can_lift_along_axis(module, node, varies)) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && !type_of(module, node, i).is_static()) return false;
  const auto axis = static_cast<std::size_t>(*axis_of(module, node));
  return type_of(module, node).dims[axis].is_constant();
}

Expected<Lifted> lift_along_axis(Builder& builder, const Node& node, const Operands& operands) {
  const int own = *axis_of(builder.module(), node), steps = operands[0].axis;
  std::vector<ir::NamedAttr> attrs = attrs_but(node, "axis");
  attrs.push_back({"axis", beside_steps(own, steps)});
  SCANLOOM_TRY(const ir::NodeId made,
               builder.node(*node.op, values_of(operands), std::move(attrs), node.outputs.size()));
  return Lifted{builder.module().node(made).outputs[0], steps};
}

bool can_lift_arg_min_max(Module& module, const Node& node, const std::vector<bool>&) {
  const auto axis = axis_of(module, node);
  return axis && type_of(module, node).dims[static_cast<std::size_t>(*axis)].is_constant();
}

Expected<Lifted> lift_arg_min_max(Builder& builder, const Node& node, const Operands& operands) {
  SCANLOOM_TRY(Lifted lifted, lift_along_axis(builder, node, operands));
  const bool goes = attr_of(node, "keepdims").integer() == 0;
  if (goes && *axis_of(builder.module(), node) < lifted.axis) --lifted.axis;
  return lifted;
}

bool can_lift_cumulative(Module& module, const Node& node, const std::vector<bool>& varies) {
  return only_first_varies(varies) && cumulated_axis(module, node).has_value();
}

Expected<Lifted> lift_cumulative(Builder& builder, const Node& node, const Operands& operands) {
  const int steps = operands[0].axis;
  const std::int64_t own = beside_steps(*cumulated_axis(builder.module(), node), steps);
  const ValueId axis = builder.constant(tensor::Tensor::of<std::int64_t>({}, {{own}}));
  SCANLOOM_TRY(const ValueId value,
               builder.op(*node.op, {operands[0].value, axis}, attrs_but(node)));
  return Lifted{value, steps};
}

}  // namespace scanloom::passes
