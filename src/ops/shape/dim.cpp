#include "ops/indices.h"
#include "ops/ops.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {
namespace dim {

constexpr int kAxis = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  const tensor::Type& x = ctx.in(0);
  ctx.set(0, tensor::Type::scalar(DType::i64));
  if (!x.ranked) return {};
  SCANLOOM_TRY(const int axis, ctx.axis(ctx.attr(kAxis).integer(), x.rank()));
  ctx.set_integers(0, {x.dims[static_cast<std::size_t>(axis)]});
  return {};
}

tensor::Status reference(const tensor::Call& call) noexcept {
  const tensor::Operand& x = call.in(0);
  *call.out(0).data<std::int64_t>() = x.dims[checked_axis(call.attrs[kAxis], x.rank)];
  return tensor::Status::ok;
}

}  // namespace dim
}  // namespace

constinit const ir::OpDef dim_op{
    .name = "dim",
    .doc = "The size of one axis, as a scalar.",
    .inputs = {{.name = "x", .accept = ir::Accept::tensor, .sizes_only = true}},
    .outputs = {"size"},
    .attrs = {{"axis", tensor::AttrKind::integer}},
    .infer = dim::infer,
    .reference = dim::reference,
    .recompute = ir::Recompute::cheap,
};

}  // namespace scanloom::ops
