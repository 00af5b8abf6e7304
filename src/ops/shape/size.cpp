#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace size {

Expected<void> infer(ir::InferCtx& ctx) {
  const tensor::Type& x = ctx.in(0);
  ctx.set(0, tensor::Type::scalar(DType::i64));
  if (x.ranked) ctx.set_integers(0, {product(ctx, x.dims)});
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  *call.out(0).data<std::int64_t>() = call.in(0).elements();
  return tensor::Status::ok;
}

}  // namespace size
}  // namespace

constinit const ir::OpDef size_op{
    .name = "size",
    .doc = "The number of elements.",
    .inputs = {{.name = "x", .accept = ir::Accept::tensor, .sizes_only = true}},
    .outputs = {"count"},
    .infer = size::infer,
    .reference = size::reference,
};

}  // namespace scanloom::ops
