#include "passes/lifting/lift_rules.h"

#include <algorithm>

#include "ops/ops.h"
#include "passes/analysis/body_kinds.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {

using ir::Builder;
using ir::Dim;
using ir::Module;
using ir::Node;
using ir::Type;
using ir::ValueId;
using Operands = std::vector<Lifted>;

namespace {

const Type& result_type(const Module& module, const Node& node) {
  return module.value(node.outputs[0]).type;
}

/// Returns the entry that a reshape writes for an axis of the result: its size, or 0 for the size
/// of the same axis of the operand; nullopt if it is neither.
std::optional<std::int64_t> shape_entry(const Type& from, const Type& to, std::size_t axis) {
  if (axis < from.dims.size() && from.dims[axis] == to.dims[axis]) return 0;
  const Dim size = to.dims[axis];
  if (!size.is_constant() || size.value() == 0) return std::nullopt;
  return size.value();
}

/// Returns the axes that a slice cuts; nullopt if they are not known.
std::optional<std::vector<std::int64_t>> cut_axes(const Module& module, const Node& node) {
  const tensor::Tensor* starts = constant_of(module, node.inputs[1]);
  if (starts == nullptr) return std::nullopt;
  std::vector<std::int64_t> axes;
  if (node.inputs.size() <= 3 || !node.inputs[3].valid()) {
    for (std::int64_t axis = 0; axis < starts->elements(); ++axis) axes.push_back(axis);
    return axes;
  }
  const tensor::Tensor* given = constant_of(module, node.inputs[3]);
  const auto integers = given != nullptr ? to_integers(*given) : std::nullopt;
  if (!integers) return std::nullopt;
  for (const std::int64_t axis : *integers) {
    const auto normal = tensor::normalise_axis(axis, type_of(module, node).rank());
    if (!normal) return std::nullopt;
    axes.push_back(*normal);
  }
  return axes;
}

}  // namespace

bool can_lift_expand(Module& module, const Node& node, const std::vector<bool>& varies) {
  return !varies[1] && integers_of(module, node, 1).has_value();
}

// Axes that the shape puts before those of the operand come after the steps.
Expected<Lifted> lift_expand(Builder& builder, const Node& node, const Operands& operands) {
  const int rank = result_type(builder.module(), node).rank();
  SCANLOOM_TRY(const Lifted front, at_front(builder, operands[0]));
  const int missing = rank - type_of(builder.module(), node).rank();
  SCANLOOM_TRY(const ValueId aligned, with_axes_of_1(builder, front.value, 1, missing));
  const std::vector<std::int64_t> shape = *integers_of(builder.module(), node, 1);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank + 1), 1);
  std::copy(shape.begin(), shape.end(), sizes.end() - static_cast<std::ptrdiff_t>(shape.size()));
  SCANLOOM_TRY(const ValueId value, builder.op(ops::expand_op, {aligned, list_of(builder, sizes)}));
  return Lifted{value, 0};
}

bool can_lift_reshape(Module& module, const Node& node, const std::vector<bool>&) {
  const Type from = type_of(module, node), to = result_type(module, node);
  if (elements_of(module, from) != elements_of(module, to)) return false;
  for (std::size_t axis = 0; axis < to.dims.size(); ++axis)
    if (!shape_entry(from, to, axis)) return false;
  return true;
}

// Elements keep their order only if the steps come before all of them.
Expected<Lifted> lift_reshape(Builder& builder, const Node& node, const Operands& operands) {
  SCANLOOM_TRY(const ValueId front, with_steps_along(builder, operands[0], 0));
  const Type from = type_of(builder.module(), node), to = result_type(builder.module(), node);
  // An entry of 0 copies the size of its own axis, and all axes have moved up by one.
  std::vector<std::int64_t> shape{0};
  for (std::size_t axis = 0; axis < to.dims.size(); ++axis)
    shape.push_back(*shape_entry(from, to, axis));
  SCANLOOM_TRY(const ValueId value,
               builder.op(ops::reshape_op, {front, list_of(builder, shape)}, {{"allowzero", 0}}));
  return Lifted{value, 0};
}

bool can_lift_slice(Module& module, const Node& node, const std::vector<bool>&) {
  for (std::size_t i = 1; i < node.inputs.size(); ++i)
    if (node.inputs[i].valid() && constant_of(module, node.inputs[i]) == nullptr) return false;
  return cut_axes(module, node).has_value();
}

Expected<Lifted> lift_slice(Builder& builder, const Node& node, const Operands& operands) {
  std::vector<std::int64_t> axes = *cut_axes(builder.module(), node);
  for (std::int64_t& axis : axes)
    if (axis >= operands[0].axis) ++axis;
  std::vector<ValueId> inputs;
  for (const Lifted& operand : operands) inputs.push_back(operand.value);
  inputs.resize(std::max<std::size_t>(inputs.size(), 4));
  inputs[3] = list_of(builder, axes);
  SCANLOOM_TRY(const ValueId value, builder.op(ops::slice_op, std::move(inputs)));
  return Lifted{value, operands[0].axis};
}

bool can_lift_squeeze(Module& module, const Node& node, const std::vector<bool>&) {
  const Type& type = type_of(module, node);
  const auto axes = named_axes(node, type.rank());
  const bool by_attribute = node.inputs.size() < 2 || !node.inputs[1].valid();
  return by_attribute && axes && std::ranges::all_of(*axes, [&](std::int64_t axis) {
           return type.dims[static_cast<std::size_t>(axis)] == Dim(1);
         });
}

Expected<Lifted> lift_squeeze(Builder& builder, const Node& node, const Operands& operands) {
  const int steps = operands[0].axis;
  int result = steps;
  std::vector<std::int64_t> axes = *named_axes(node, type_of(builder.module(), node).rank());
  for (std::int64_t& axis : axes)
    if (axis < steps)
      --result;
    else
      ++axis;
  SCANLOOM_TRY(const ValueId value,
               builder.op(ops::squeeze_op, {operands[0].value}, {{"axes", std::move(axes)}}));
  return Lifted{value, result};
}

bool can_lift_transpose(Module& module, const Node& node, const std::vector<bool>&) {
  return order_of(module, node).has_value();
}

Expected<Lifted> lift_transpose(Builder& builder, const Node& node, const Operands& operands) {
  const int steps = operands[0].axis;
  std::vector<std::int64_t> order = *order_of(builder.module(), node);
  for (std::int64_t& axis : order)
    if (axis >= steps) ++axis;
  order.insert(order.begin() + steps, steps);
  SCANLOOM_TRY(const ValueId value,
               builder.op(ops::transpose_op, {operands[0].value}, {{"perm", std::move(order)}}));
  return Lifted{value, steps};
}

bool can_lift_unsqueeze(Module& module, const Node& node, const std::vector<bool>&) {
  const bool by_attribute = node.inputs.size() < 2 || !node.inputs[1].valid();
  return by_attribute && named_axes(node, result_type(module, node).rank()).has_value();
}

Expected<Lifted> lift_unsqueeze(Builder& builder, const Node& node, const Operands& operands) {
  std::vector<std::int64_t> axes = *named_axes(node, result_type(builder.module(), node).rank());
  // The steps keep their neighbour: they come after the axes of the result that are made from the
  // axes before them.
  std::int64_t result = 0;
  for (int before = operands[0].axis; before > 0; ++result)
    if (std::ranges::find(axes, result) == axes.end()) --before;
  for (std::int64_t& axis : axes)
    if (axis >= result) ++axis;
  SCANLOOM_TRY(const ValueId value,
               builder.op(ops::unsqueeze_op, {operands[0].value}, {{"axes", std::move(axes)}}));
  return Lifted{value, static_cast<int>(result)};
}

}  // namespace scanloom::passes
