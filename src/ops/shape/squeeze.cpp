#include <algorithm>

#include "ops/lift_rules.h"
#include "ops/named_axes.h"
#include "ops/ops.h"
#include "ops/shape/reshape_view.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace squeeze {

using tensor::Dim;
using tensor::Type;

constexpr int kAxes = 0;

// Without axes all axes of size 1 are removed, so every size must be known.
Expected<void> infer_all(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  std::vector<Dim> sizes;
  for (const Dim size : x.dims) {
    if (!size.is_constant()) {
      ctx.set(0, Type::unranked(x.dtype));
      return {};
    }
    if (size != Dim(1)) sizes.push_back(size);
  }
  ctx.set(0, x.dtype, std::move(sizes));
  pass_integers(ctx);
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  SCANLOOM_TRY(const NamedAxes named, read_named_axes(ctx, ctx.attr(kAxes), 1));
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  if (!named.present) return infer_all(ctx);
  if (!named.axes) {
    ctx.set(0, of_unknown_axes(ctx, x.dtype, named.count < 0 ? -1 : x.rank() - named.count));
    return {};
  }
  SCANLOOM_TRY(const std::vector<int> axes, normalise_axes(ctx, *named.axes, x.rank()));
  std::vector<Dim> sizes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim size = x.dims[static_cast<std::size_t>(axis)];
    if (std::ranges::find(axes, axis) == axes.end())
      sizes.push_back(size);
    else if (size.is_constant() && size != Dim(1))
      return invalid_model("axis {} has size {}, not 1", axis, size.value());
  }
  ctx.set(0, x.dtype, std::move(sizes));
  pass_integers(ctx);
  return {};
}

Expected<int> steps(const ir::StepSite& s) {
  const auto axes = axes_of(s, 1);
  if (!axes || contains(*axes, s.axis(0))) return across("it may remove their axis");
  return without(*axes, s.axis(0));
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  const ir::Type& type = type_of(module, node);
  const auto axes = attribute_axes(node, type.rank());
  const bool by_attribute = node.inputs.size() < 2 || !node.inputs[1].valid();
  return by_attribute && axes && std::ranges::all_of(*axes, [&](std::int64_t axis) {
           return type.dims[static_cast<std::size_t>(axis)] == ir::Dim(1);
         });
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int steps = operands[0].axis;
  int result = steps;
  std::vector<std::int64_t> axes = *attribute_axes(node, type_of(builder.module(), node).rank());
  for (std::int64_t& axis : axes)
    if (axis < steps)
      --result;
    else
      ++axis;
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(squeeze_op, {operands[0].value}, {{"axes", std::move(axes)}}));
  return ir::Lifted{value, result};
}

std::optional<int> axis_of_lowered(const ir::Module& module, const ir::Node& node, int axis) {
  const ir::Type& type = type_of(module, node);
  const auto axes = axes_by_attribute(node, type.rank());
  if (!axes) return std::nullopt;
  int result = axis;
  for (const std::int64_t dropped : *axes) {
    if (type.dims[static_cast<std::size_t>(dropped)] != ir::Dim(1) || dropped == axis)
      return std::nullopt;
    if (dropped < axis) --result;
  }
  return result;
}

Expected<ir::ValueId> lower(ir::Builder& builder, const ir::Node& node, ir::ValueId element,
                            int operand_axis, int) {
  const int rank = type_of(builder.module(), node).rank();
  auto axes = without_steps(*attribute_axes(node, rank), operand_axis);
  return builder.op(squeeze_op, {element}, {{"axes", std::move(axes)}});
}

}  // namespace squeeze
}  // namespace

constinit const ir::OpDef squeeze_op{
    .name = "squeeze",
    .doc =
        "Without the axes that `axes`, an attribute or an operand, names, each of size 1; without "
        "`axes` all of size 1 are dropped.",
    .inputs = {{"x", ir::Accept::tensor},
               {"computed_axes", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"axes", tensor::AttrKind::integers, true}},
    .access = ir::Access::view,
    .infer = squeeze::infer,
    .reference = tensor::copy_kernel,
    .view = reshape_view,
    .keeps_order = true,
    .steps = {.axis = squeeze::steps},
    .lifting = {squeeze::can_lift, squeeze::lift},
    .lowering = {squeeze::axis_of_lowered, squeeze::lower},
};

}  // namespace scanloom::ops
