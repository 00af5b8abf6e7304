#include "ir/gradient_op.h"

#include "ir/module.h"

namespace scanloom::ir {
namespace {

constexpr int kWrt = 0;

/// Whether a tensor of this type may take the place of one of that type.
bool may_replace(const Type& given, const Type& variable) {
  if (!given.is_tensor() || !variable.is_tensor() || given.dtype != variable.dtype) return false;
  if (!given.ranked || !variable.ranked) return true;
  if (given.rank() != variable.rank()) return false;
  for (std::size_t axis = 0; axis < given.dims.size(); ++axis)
    if (given.dims[axis].is_constant() && variable.dims[axis].is_constant() &&
        given.dims[axis] != variable.dims[axis])
      return false;
  return true;
}

Expected<void> infer_gradient(InferCtx& ctx) {
  const std::int64_t wrt = ctx.attr(kWrt).integer();
  const int count = (ctx.input_count() - 1) / 2;
  if (ctx.input_count() % 2 != 1 || wrt < 1 || wrt > count || ctx.output_count() > wrt)
    return fail(Code::internal, "a gradient with {} operands and {} results of {} variables",
                ctx.input_count(), ctx.output_count(), wrt);
  for (int i = 0; i < count; ++i) {
    const Type &variable = ctx.in(1 + i), &given = ctx.in(1 + count + i);
    if (!may_replace(given, variable))
      return invalid_model("operand {} is {}, but takes the place of {}", i,
                           to_string(given, ctx.dims()), to_string(variable, ctx.dims()));
    if (i < wrt && !is_floating_point(given.dtype))
      return invalid_model("gradients are of floating-point variables, but operand {} is {}", i,
                           to_string(given, ctx.dims()));
  }
  if (!ctx.in(0).is_tensor() || !is_floating_point(ctx.in(0).dtype))
    return invalid_model("gradients are of floating-point values, but this one is {}",
                         to_string(ctx.in(0), ctx.dims()));
  for (int i = 0; i < ctx.output_count(); ++i) ctx.set(i, ctx.in(1 + count + i));
  return {};
}

}  // namespace

GradientOperands GradientOperands::of(const Node& node) {
  const std::span<const ValueId> operands = node.inputs;
  const std::size_t count = (operands.size() - 1) / 2;
  return {.y = operands[0],
          .variables = operands.subspan(1, count),
          .values = operands.subspan(1 + count),
          .wrt = static_cast<std::size_t>(node.attrs[kWrt].integer())};
}

constinit const OpDef gradient_op{
    .name = "gradient",
    .doc = "The gradients of y with respect to some of the variables that it is a function of.",
    .inputs = {{.name = "y", .accept = Accept::any},
               {.name = "operands", .accept = Accept::any, .arity = Arity::variadic}},
    .outputs = {"gradients..."},
    .attrs = {{.name = "wrt", .kind = tensor::AttrKind::integer}},
    .infer = infer_gradient,
};

}  // namespace scanloom::ir
