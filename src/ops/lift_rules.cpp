#include "ops/lift_rules.h"

#include <algorithm>
#include <numeric>

#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace scanloom::ops {
namespace {

/// Returns how many axes follow the steps in all sequences; nullopt if the numbers differ.
std::optional<int> axes_after_steps(const ir::Module& module, const LiftedOperands& operands) {
  std::optional<int> trailing;
  for (const ir::Lifted& operand : operands) {
    if (!operand.is_sequence()) continue;
    const int here = module.value(operand.value).type.rank() - 1 - operand.axis;
    if (trailing && *trailing != here) return std::nullopt;
    trailing = here;
  }
  return trailing;
}

/// Moves the steps to axis 0, followed by all axes of the result.
Expected<void> align_at_front(ir::Builder& builder, LiftedOperands& operands, int rank) {
  for (ir::Lifted& operand : operands) {
    if (!operand.is_sequence()) continue;
    SCANLOOM_TRY(operand, at_front(builder, operand));
    const int missing = rank + 1 - builder.module().value(operand.value).type.rank();
    SCANLOOM_TRY(operand.value, with_axes_of_1(builder, operand.value, 1, missing));
  }
  return {};
}

}  // namespace

bool can_lift_pointwise(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  return node.op->effects == ir::Effects::pure && broadcasts_for_sure(module, node);
}

// Broadcasting counts axes from the last one, so equally many must follow the steps everywhere.
Expected<ir::Lifted> lift_pointwise(ir::Builder& builder, const ir::Node& node,
                                    const LiftedOperands& operands) {
  LiftedOperands aligned = operands;
  const int rank = builder.module().value(node.outputs[0]).type.rank();
  const std::optional<int> common = axes_after_steps(builder.module(), operands);
  if (!common) SCANLOOM_CHECK_OK(align_at_front(builder, aligned, rank));
  const int trailing = common.value_or(rank);
  std::vector<ir::ValueId> inputs;
  for (const ir::Lifted& operand : aligned) {
    ir::ValueId& input = inputs.emplace_back(operand.value);
    if (operand.is_sequence() || !input.valid()) continue;
    const int before = builder.module().value(input).type.rank() - trailing;
    if (before > 0) {
      SCANLOOM_TRY(input, with_axes_of_1(builder, input, before, 1));
    }
  }
  SCANLOOM_TRY(const ir::ValueId result, builder.op(*node.op, std::move(inputs), attrs_but(node)));
  return ir::Lifted{result, rank - trailing};
}

bool can_lift_along_axis(ir::Module& module, const ir::Node& node,
                         const std::vector<bool>& varies) {
  return only_first_varies(varies) && attribute_axis(module, node).has_value();
}

Expected<ir::Lifted> lift_along_axis(ir::Builder& builder, const ir::Node& node,
                                     const LiftedOperands& operands) {
  const int own = *attribute_axis(builder.module(), node), steps = operands[0].axis;
  std::vector<ir::NamedAttr> attrs = attrs_but(node, "axis");
  attrs.push_back({"axis", axis_in_sequence(own, steps)});
  SCANLOOM_TRY(const ir::NodeId made,
               builder.node(*node.op, values_of(operands), std::move(attrs), node.outputs.size()));
  return ir::Lifted{builder.module().node(made).outputs[0], steps};
}

bool only_first_varies(const std::vector<bool>& varies) {
  return varies[0] && std::ranges::count(varies, true) == 1;
}

const ir::Type& type_of(const ir::Module& module, const ir::Node& node, std::size_t operand) {
  return module.value(node.inputs[operand]).type;
}

std::optional<std::vector<std::int64_t>> integers_of(const ir::Module& module, const ir::Node& node,
                                                     std::size_t operand) {
  if (operand >= node.inputs.size()) return std::nullopt;
  const tensor::Tensor* constant = constant_of(module, node.inputs[operand]);
  return constant != nullptr ? to_integers(*constant) : std::nullopt;
}

std::optional<int> attribute_axis(const ir::Module& module, const ir::Node& node) {
  return tensor::normalise_axis(attr_of(node, "axis").integer(), type_of(module, node).rank());
}

std::vector<ir::NamedAttr> attrs_but(const ir::Node& node, std::string_view left_out) {
  std::vector<ir::NamedAttr> named;
  for (std::size_t i = 0; i < node.attrs.size(); ++i)
    if (node.attrs[i].present() && node.op->attrs[i].name != left_out)
      named.push_back({node.op->attrs[i].name, node.attrs[i]});
  return named;
}

ir::ValueId list_of(ir::Builder& builder, const std::vector<std::int64_t>& integers) {
  const auto count = static_cast<std::int64_t>(integers.size());
  return builder.constant(tensor::Tensor::of<std::int64_t>({count}, integers));
}

Expected<ir::Lifted> at_front(ir::Builder& builder, const ir::Lifted& sequence) {
  SCANLOOM_TRY(const ir::ValueId value, with_steps_along(builder, sequence, 0));
  return ir::Lifted{value, 0};
}

Expected<ir::ValueId> with_axes_of_1(ir::Builder& builder, ir::ValueId value, int first,
                                     int count) {
  if (count == 0) return value;
  std::vector<std::int64_t> axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), first);
  return builder.op(unsqueeze_op, {value}, {{"axes", std::move(axes)}});
}

bool broadcasts_for_sure(const ir::Module& module, const ir::Node& node) {
  const std::vector<ir::Dim>& result = module.value(node.outputs[0]).type.dims;
  return std::ranges::all_of(node.inputs, [&](ir::ValueId input) {
    if (!input.valid()) return true;
    const std::vector<ir::Dim>& dims = module.value(input).type.dims;
    return dims.size() <= result.size() && std::equal(dims.rbegin(), dims.rend(), result.rbegin(),
                                                      [](ir::Dim size, ir::Dim wanted) {
                                                        return size == wanted || size == ir::Dim(1);
                                                      });
  });
}

Expected<ir::Lifted> repeated(ir::Builder& builder, ir::ValueId value, const ir::Lifted& like) {
  const ir::Module& module = builder.module();
  const ir::Dim steps = module.value(like.value).type.dims[static_cast<std::size_t>(like.axis)];
  const auto rank = static_cast<std::size_t>(module.value(value).type.rank());
  SCANLOOM_TRY(const ir::ValueId row, with_axes_of_1(builder, value, 0, 1));
  std::vector<std::int64_t> sizes(rank, 1);
  ir::ValueId shape;
  if (steps.is_constant()) {
    sizes.insert(sizes.begin(), steps.value());
    shape = list_of(builder, sizes);
  } else {
    SCANLOOM_TRY(
        const ir::ValueId count,
        builder.op(shape_op, {like.value}, {{"start", like.axis}, {"end", like.axis + 1}}));
    SCANLOOM_TRY(shape, builder.op(concat_op, {count, list_of(builder, sizes)}, {{"axis", 0}}));
  }
  SCANLOOM_TRY(const ir::ValueId sequence, builder.op(expand_op, {row, shape}));
  return ir::Lifted{sequence, 0};
}

Expected<ir::ValueId> with_steps_along(ir::Builder& builder, const ir::Lifted& sequence, int axis) {
  if (axis == sequence.axis) return sequence.value;
  const int rank = builder.module().value(sequence.value).type.rank();
  std::vector<std::int64_t> order;
  for (int i = 0; i < rank; ++i)
    if (i != sequence.axis) order.push_back(i);
  order.insert(order.begin() + axis, sequence.axis);
  return builder.op(transpose_op, {sequence.value}, {{"perm", std::move(order)}});
}

std::optional<std::vector<std::int64_t>> attribute_axes(const ir::Node& node, int rank) {
  const ir::Attr& attr = attr_of(node, "axes");
  if (!attr.present()) return std::nullopt;
  auto axes = tensor::normalise_axes(attr.integers(), rank);
  if (axes) std::ranges::sort(*axes);
  return axes;
}

std::optional<std::vector<std::int64_t>> order_of(const ir::Module& module, const ir::Node& node) {
  const ir::Type& type = module.value(node.inputs[0]).type;
  if (!type.ranked) return std::nullopt;
  const auto perm = static_cast<std::size_t>(transpose_op.attr_index("perm"));
  if (node.attrs[perm].present()) return node.attrs[perm].integers();
  std::vector<std::int64_t> order(type.dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

int axis_in_sequence(int axis, int steps) { return axis < steps ? axis : axis + 1; }

std::vector<ir::ValueId> values_of(const LiftedOperands& operands) {
  std::vector<ir::ValueId> values;
  for (const ir::Lifted& operand : operands) values.push_back(operand.value);
  return values;
}

const ir::Type& result_type(const ir::Module& module, const ir::Node& node) {
  return module.value(node.outputs[0]).type;
}

std::optional<std::vector<std::int64_t>> axes_by_attribute(const ir::Node& node, int rank) {
  const bool by_operand = node.inputs.size() > 1 && node.inputs[1].valid();
  return by_operand ? std::nullopt : attribute_axes(node, rank);
}

std::vector<std::int64_t> without_steps(std::vector<std::int64_t> axes, int steps) {
  std::erase(axes, steps);
  for (std::int64_t& axis : axes)
    if (axis > steps) --axis;
  return axes;
}

}  // namespace scanloom::ops
