#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/for_each.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {

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

}  // namespace

constinit const ir::OpDef expand_op{
    .name = "expand",
    .doc = "Repeated to the size that numpy's broadcasting gives x together with `shape`.",
    .inputs = {{"x", ir::Accept::tensor}, {"shape", ir::Accept::index}},
    .outputs = {"y"},
    .access = ir::Access::view,
    .infer = infer,
    .reference = reference,
    .view = view,
};

}  // namespace scanloom::ops
