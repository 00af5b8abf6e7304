#include "ops/ops.h"
#include "ops/shape/reshape_view.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace flatten {

constexpr int kAxis = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const tensor::Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, ctx.fresh(x.dtype, 2));
    return {};
  }
  const std::int64_t given = ctx.attr(kAxis).integer(), rank = x.rank();
  if (given < -rank || given > rank)
    return invalid_model("axis {} is outside [{}, {}]", given, -rank, rank);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  const std::span<const tensor::Dim> sizes = x.dims;
  return set_sizes(ctx, 0, x.dtype,
                   {product(ctx, sizes.first(axis)), product(ctx, sizes.subspan(axis))});
}

}  // namespace flatten
}  // namespace

constinit const ir::OpDef flatten_op{
    .name = "flatten",
    .doc = "A matrix of the same elements: the axes before `axis` become rows, the rest columns.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .access = ir::Access::view,
    .infer = flatten::infer,
    .reference = tensor::copy_kernel,
    .view = reshape_view,
    .keeps_order = true,
    .steps = {.regroup = steps_of_reshape},
    .lifting = {can_lift_reshape, lift_reshape},
};

}  // namespace scanloom::ops
