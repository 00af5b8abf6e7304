#include "ops/ops.h"
#include "ops/sequence/boxes.h"

namespace scanloom::ops {
namespace {

using tensor::BoxRef;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(Type type, wrapped(ctx.in(0), tensor::Wrap::optional, ctx.dims()));
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> boxed(const tensor::BoxedCall& call) {
  SCANLOOM_TRY(BoxRef item, call.take(0));
  return call.give(0, BoxRef::optional_of(std::move(item)));
}

}  // namespace

constinit const ir::OpDef optional_op{
    .name = "optional",
    .doc = "An optional that holds the input.",
    .inputs = {{"item", ir::Accept::any}},
    .outputs = {"optional"},
    .infer = infer,
    .boxed = boxed,
};

}  // namespace scanloom::ops
