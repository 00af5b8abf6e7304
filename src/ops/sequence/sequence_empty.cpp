#include "ops/ops.h"
#include "ops/sequence/boxes.h"

namespace scanloom::ops {
namespace {

using tensor::BoxRef;

constexpr int kDType = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  tensor::Type type = tensor::Type::unranked(ctx.attr(kDType).dtype());
  type.wraps = {tensor::Wrap::sequence};
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> boxed(const tensor::BoxedCall& call) {
  return call.give(0, BoxRef::sequence(call.attrs[kDType].dtype()));
}

}  // namespace

constinit const ir::OpDef sequence_empty_op{
    .name = "sequence_empty",
    .doc = "A sequence without items, which will be tensors of that element type.",
    .outputs = {"sequence"},
    .attrs = {{"dtype", tensor::AttrKind::dtype}},
    .infer = infer,
    .boxed = boxed,
};

}  // namespace scanloom::ops
