#include "ops/ops.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace constant_of_shape {

using tensor::Dim;
using tensor::Type;

constexpr int kValue = 0;

void follow(ir::InferCtx& ctx, const tensor::Tensor& value) {
  const Type& y = ctx.outputs()[0];
  if (!holds_sizes(y.dtype) || y.rank() > 1 || !y.is_static()) return;
  const std::int64_t count = y.shape().elements();
  if (count > kMaxFollowed) return;
  if (const auto number = to_integers(value))
    ctx.set_integers(0, std::vector<Dim>(static_cast<std::size_t>(count), number->front()));
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_list(ctx, 0, "the shape"));
  const tensor::Tensor& value = ctx.attr(kValue).tensor();
  if (value.elements() != 1)
    return invalid_model("attribute 'value' has {} elements, not 1", value.elements());
  const auto sizes = ctx.integers(0);
  const std::int64_t rank = element_count(ctx, 0);
  if (rank > tensor::kMaxRank)
    return invalid_model("the shape has {} axes, more than {}", rank, tensor::kMaxRank);
  if (!sizes) {
    ctx.set(0, rank < 0 ? Type::unranked(value.dtype())
                        : ctx.fresh(value.dtype(), static_cast<int>(rank)));
    return {};
  }
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, value.dtype(), *sizes));
  follow(ctx, value);
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  fill(call.out(0), static_cast<const std::byte*>(call.attrs[kValue].tensor().data()));
  return tensor::Status::ok;
}

}  // namespace constant_of_shape
}  // namespace

constinit const ir::OpDef constant_of_shape_op{
    .name = "constant_of_shape",
    .doc = "A tensor of that shape, every element of which is `value`.",
    .inputs = {{.name = "shape", .accept = ir::Accept::index, .decides_sizes = true}},
    .outputs = {"y"},
    .attrs = {{"value", tensor::AttrKind::tensor}},
    .infer = constant_of_shape::infer,
    .reference = constant_of_shape::reference,
    .recompute = ir::Recompute::cheap,
    .linear_work = true,
};

}  // namespace scanloom::ops
