// Lifting of operators that move elements.
#include <algorithm>
#include <numeric>

#include "ops/ops.h"
#include "passes/lifting/lift_rules.h"
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

constexpr std::size_t kPads = 1, kPadValue = 2, kPadAxes = 3;

/// Returns the axes that a pad names, in [0, rank); nullopt if they are not known.
std::optional<std::vector<std::int64_t>> padded_axes(const Module& module, const Node& node) {
  const int rank = type_of(module, node).rank();
  std::vector<std::int64_t> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (node.inputs.size() <= kPadAxes || !node.inputs[kPadAxes].valid()) return axes;
  auto named = integers_of(module, node, kPadAxes);
  if (!named) return std::nullopt;
  for (std::int64_t& axis : *named) {
    const auto normal = tensor::normalise_axis(axis, rank);
    if (!normal) return std::nullopt;
    axis = *normal;
  }
  return named;
}

/// Whether each index is a number within an axis of that size.
bool surely_inside(const Module& module, const Node& node, Dim size) {
  const auto indices = integers_of(module, node, 1);
  return indices && size.is_constant() && std::ranges::all_of(*indices, [&](std::int64_t index) {
           return index >= -size.value() && index < size.value();
         });
}

}  // namespace

/// Whether the sizes of all operands agree, also where they are symbols.
bool can_lift_concat(Module& module, const Node& node, const std::vector<bool>&) {
  const auto axis = axis_of(module, node);
  if (!axis) return false;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    Type type = type_of(module, node, i);
    const auto at = static_cast<std::size_t>(*axis);
    if (type.dims.size() <= at) return false;
    type.dims[at] = type_of(module, node).dims[at];
    if (type != type_of(module, node)) return false;
  }
  return true;
}

Expected<Lifted> lift_concat(Builder& builder, const Node& node, const Operands& operands) {
  const int own = *axis_of(builder.module(), node);
  const Lifted& first = *std::ranges::find_if(operands, &Lifted::is_sequence);
  const bool alike = std::ranges::all_of(
      operands, [&](const Lifted& operand) { return operand.axis == first.axis; });
  const int steps = alike ? first.axis : 0;
  std::vector<ValueId> values;
  for (const Lifted& operand : operands) {
    Lifted sequence = operand;
    if (!operand.is_sequence()) {
      SCANLOOM_TRY(sequence, repeated(builder, operand.value, first));
    }
    SCANLOOM_TRY(const ValueId value, with_steps_along(builder, sequence, steps));
    values.push_back(value);
  }
  SCANLOOM_TRY(const ValueId value, builder.op(ops::concat_op, std::move(values),
                                               {{"axis", own < steps ? own : own + 1}}));
  return Lifted{value, steps};
}

// A varying index is checked as often as in the loop.
bool can_lift_gather(Module& module, const Node& node, const std::vector<bool>& varies) {
  const auto axis = axis_of(module, node);
  if (!axis || varies[0] == varies[1]) return false;
  const Dim size = type_of(module, node).dims[static_cast<std::size_t>(*axis)];
  return varies[1] || surely_inside(module, node, size);
}

Expected<Lifted> lift_gather(Builder& builder, const Node& node, const Operands& operands) {
  const int own = *axis_of(builder.module(), node);
  const bool picks = operands[1].is_sequence();
  const int steps = picks ? operands[1].axis : operands[0].axis;
  const int axis = picks || own < steps ? own : own + 1;
  SCANLOOM_TRY(
      const ValueId value,
      builder.op(ops::gather_op, {operands[0].value, operands[1].value}, {{"axis", axis}}));
  const int width = type_of(builder.module(), node, 1).rank();
  return Lifted{value, picks ? own + steps : own < steps ? steps + width - 1 : steps};
}

// Padding that cuts or repeats elements fails if the axis is too short.
bool can_lift_pad(Module& module, const Node& node, const std::vector<bool>& varies) {
  const auto pads = integers_of(module, node, kPads);
  const auto axes = padded_axes(module, node);
  if (!only_first_varies(varies) || !pads || !axes || pads->size() != 2 * axes->size())
    return false;
  const bool repeats = attr_of(node, "mode").text() != "constant";
  for (std::size_t i = 0; i < pads->size(); ++i) {
    const auto axis = static_cast<std::size_t>((*axes)[i % axes->size()]);
    const bool may_fail = (*pads)[i] < 0 || (repeats && (*pads)[i] != 0);
    if (may_fail && !type_of(module, node).dims[axis].is_constant()) return false;
  }
  return true;
}

Expected<Lifted> lift_pad(Builder& builder, const Node& node, const Operands& operands) {
  const int steps = operands[0].axis;
  std::vector<std::int64_t> axes = *padded_axes(builder.module(), node);
  for (std::int64_t& axis : axes)
    if (axis >= steps) ++axis;
  const ValueId value = operands.size() > kPadValue ? operands[kPadValue].value : ValueId();
  SCANLOOM_TRY(const ValueId padded,
               builder.op(ops::pad_op,
                          {operands[0].value, operands[kPads].value, value, list_of(builder, axes)},
                          attrs_but(node)));
  return Lifted{padded, steps};
}

bool can_lift_tile(Module& module, const Node& node, const std::vector<bool>& varies) {
  return only_first_varies(varies) && integers_of(module, node, 1).has_value();
}

Expected<Lifted> lift_tile(Builder& builder, const Node& node, const Operands& operands) {
  const int steps = operands[0].axis;
  std::vector<std::int64_t> repeats = *integers_of(builder.module(), node, 1);
  repeats.insert(repeats.begin() + steps, 1);
  SCANLOOM_TRY(const ValueId value,
               builder.op(ops::tile_op, {operands[0].value, list_of(builder, repeats)}));
  return Lifted{value, steps};
}

}  // namespace scanloom::passes
