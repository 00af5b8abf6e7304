#include <algorithm>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace transpose {

using tensor::Attr;
using tensor::Shape;
using tensor::Type;

constexpr int kPerm = 0;

/// Returns the input axis that becomes result axis `axis`. Precondition: perm has been checked.
int source_axis(const Attr& perm, int axis, int rank) {
  if (!perm.present()) return rank - 1 - axis;
  return static_cast<int>(perm.integers()[static_cast<std::size_t>(axis)]);
}

/// Checks that perm has each of 0 to n-1 once. Negative axes are rejected: unlike for other
/// operators, ONNX does not define them here, and readers of perm may use its entries unchanged.
Expected<void> check_perm(std::span<const std::int64_t> perm) {
  const auto rank = static_cast<std::int64_t>(perm.size());
  std::vector<bool> named(perm.size(), false);
  for (const std::int64_t axis : perm) {
    if (axis < 0 || axis >= rank)
      return invalid_model("perm names axis {}, which is outside [0, {})", axis, rank);
    if (named[static_cast<std::size_t>(axis)])
      return invalid_model("perm names axis {} twice", axis);
    named[static_cast<std::size_t>(axis)] = true;
  }
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  const Attr& perm = ctx.attr(kPerm);
  if (perm.present()) SCANLOOM_CHECK_OK(check_perm(perm.integers()));
  if (!x.ranked) {
    ctx.set(0, perm.present() ? ctx.fresh(x.dtype, static_cast<int>(perm.integers().size()))
                              : Type::unranked(x.dtype));
    return {};
  }
  if (perm.present() && perm.integers().size() != x.dims.size())
    return invalid_model("perm names {} axes, but the input has {}", perm.integers().size(),
                         x.rank());
  std::vector<tensor::Dim> sizes;
  for (int axis = 0; axis < x.rank(); ++axis)
    sizes.push_back(x.dims[static_cast<std::size_t>(source_axis(perm, axis, x.rank()))]);
  ctx.set(0, x.dtype, std::move(sizes));
  pass_integers(ctx);
  return {};
}

std::optional<ir::ViewOf> view(const ir::ViewCtx& ctx) {
  const int rank = ctx.dims.rank();
  ir::ViewOf result{.offset = 0, .dims = Shape::filled(rank, 0), .strides = Shape::filled(rank, 0)};
  for (int axis = 0; axis < rank; ++axis) {
    const int source = source_axis(ctx.attrs[kPerm], axis, rank);
    result.dims[axis] = ctx.dims[source];
    result.strides[axis] = ctx.strides[source];
  }
  return result;
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const tensor::Operand &x = call.in(0), &y = call.out(0);
  Shape strides = Shape::filled(y.rank, 0);
  for (int axis = 0; axis < y.rank; ++axis)
    strides[axis] = x.strides[source_axis(call.attrs[kPerm], axis, y.rank)];
  tensor::copy_strided(y.dtype, {y.dims, static_cast<std::size_t>(y.rank)}, x.data<std::byte>(),
                       strides.data(), y.data<std::byte>(), y.strides);
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  const auto order = order_of(s.module, s.node);
  if (!order) return across("its order of axes is not known");
  return static_cast<int>(std::ranges::find(*order, s.axis(0)) - order->begin());
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>&) {
  return order_of(module, node).has_value();
}

Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int steps = operands[0].axis;
  std::vector<std::int64_t> order = *order_of(builder.module(), node);
  for (std::int64_t& axis : order)
    if (axis >= steps) ++axis;
  order.insert(order.begin() + steps, steps);
  SCANLOOM_TRY(const ir::ValueId value,
               builder.op(transpose_op, {operands[0].value}, {{"perm", std::move(order)}}));
  return ir::Lifted{value, steps};
}

std::optional<int> axis_of_lowered(const ir::Module& module, const ir::Node& node, int axis) {
  const auto order = order_of(module, node);
  if (!order) return std::nullopt;
  return static_cast<int>(std::ranges::find(*order, axis) - order->begin());
}

Expected<ir::ValueId> lower(ir::Builder& builder, const ir::Node& node, ir::ValueId element,
                            int operand_axis, int) {
  auto order = without_steps(*order_of(builder.module(), node), operand_axis);
  return builder.op(transpose_op, {element}, {{"perm", std::move(order)}});
}

}  // namespace transpose
}  // namespace

constinit const ir::OpDef transpose_op{
    .name = "transpose",
    .doc =
        "With its axes in another order: axis i of the result is axis perm[i] of x, from 0 on. "
        "Without perm the order is reversed.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"perm", tensor::AttrKind::integers, true}},
    .access = ir::Access::view,
    .infer = transpose::infer,
    .reference = transpose::reference,
    .view = transpose::view,
    .steps = {.axis = transpose::steps},
    .lifting = {transpose::can_lift, transpose::lift},
    .lowering = {transpose::axis_of_lowered, transpose::lower},
};

}  // namespace scanloom::ops
