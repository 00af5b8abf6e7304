#include <algorithm>

#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/for_each.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace expand {

using tensor::Dim;
using tensor::Type;

// Repeats of one element, or a few, are tracked as sizes if the count is a small number.
void follow(ir::InferCtx& ctx) {
  const auto given = ctx.integers(0);
  const Type& y = ctx.outputs()[0];
  if (!given || !y.ranked || y.rank() > 1 || !y.is_static()) return;
  const std::int64_t count = y.shape().elements();
  if (count > kMaxFollowed) return;
  std::vector<Dim> values = *given;
  if (values.size() == 1) values.assign(static_cast<std::size_t>(count), values[0]);
  ctx.set_integers(0, std::move(values));
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_list(ctx, 1, "the shape"));
  const Type& x = ctx.in(0);
  const auto shape = ctx.integers(1);
  const std::int64_t count =
      shape ? static_cast<std::int64_t>(shape->size()) : element_count(ctx, 1);
  if (count > tensor::kMaxRank)
    return invalid_model("the shape has {} axes, more than {}", count, tensor::kMaxRank);
  if (!x.ranked || count < 0) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  if (!shape) {
    ctx.set(0, ctx.fresh(x.dtype, static_cast<int>(std::max<std::int64_t>(count, x.rank()))));
    return {};
  }
  SCANLOOM_TRY(const Type y, ctx.broadcast(x, Type::of(x.dtype, *shape), x.dtype));
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, x.dtype, y.dims));
  follow(ctx);
  return {};
}

std::optional<ir::ViewOf> view(const ir::ViewCtx& ctx) {
  return ir::ViewOf{
      .offset = 0,
      .dims = ctx.result,
      .strides = tensor::broadcast_strides(ctx.dims.dims(), ctx.strides.dims(), ctx.result.dims())};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const tensor::Operand &x = call.in(0), &y = call.out(0);
  const auto rank = static_cast<std::size_t>(x.rank);
  const std::span sizes(y.dims, static_cast<std::size_t>(y.rank));
  const tensor::Shape strides = tensor::broadcast_strides({x.dims, rank}, {x.strides, rank}, sizes);
  tensor::copy_strided(y.dtype, sizes, x.data<std::byte>(), strides.data(), y.data<std::byte>(),
                       y.strides);
  return tensor::Status::ok;
}

Expected<int> steps(const ir::StepSite& s) {
  const int axis = s.axis(0) + s.result_type().rank() - s.type(0).rank();
  if (s.result_type().dims[static_cast<std::size_t>(axis)] !=
      s.type(0).dims[static_cast<std::size_t>(s.axis(0))])
    return across("it repeats them");
  return axis;
}

bool can_lift(ir::Module& module, const ir::Node& node, const std::vector<bool>& varies) {
  return !varies[1] && integers_of(module, node, 1).has_value();
}

// Axes that the shape puts before those of the operand come after the steps.
Expected<ir::Lifted> lift(ir::Builder& builder, const ir::Node& node,
                          const LiftedOperands& operands) {
  const int rank = result_type(builder.module(), node).rank();
  SCANLOOM_TRY(const ir::Lifted front, at_front(builder, operands[0]));
  const int missing = rank - type_of(builder.module(), node).rank();
  SCANLOOM_TRY(const ir::ValueId aligned, with_axes_of_1(builder, front.value, 1, missing));
  const std::vector<std::int64_t> shape = *integers_of(builder.module(), node, 1);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank + 1), 1);
  std::copy(shape.begin(), shape.end(), sizes.end() - static_cast<std::ptrdiff_t>(shape.size()));
  SCANLOOM_TRY(const ir::ValueId value, builder.op(expand_op, {aligned, list_of(builder, sizes)}));
  return ir::Lifted{value, 0};
}

}  // namespace expand
}  // namespace

constinit const ir::OpDef expand_op{
    .name = "expand",
    .doc = "Repeated to the size that numpy's broadcasting gives x together with `shape`.",
    .inputs = {{"x", ir::Accept::tensor},
               {.name = "shape", .accept = ir::Accept::index, .decides_sizes = true}},
    .outputs = {"y"},
    .access = ir::Access::view,
    .infer = expand::infer,
    .reference = expand::reference,
    .view = expand::view,
    .steps = {.axis = expand::steps},
    .lifting = {expand::can_lift, expand::lift},
};

}  // namespace scanloom::ops
