#include "ops/ops.h"
#include "ops/sequence/boxes.h"

namespace scanloom::ops {
namespace {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, tensor::Type::scalar(DType::boolean));
  return {};
}

Expected<void> boxed(const tensor::BoxedCall& call) {
  return give_scalar(call, 0, !call.inputs[0]->items().empty());
}

}  // namespace

constinit const ir::OpDef optional_has_element_op{
    .name = "optional_has_element",
    .doc = "Whether the optional holds something.",
    .inputs = {{"optional", ir::Accept::optional}},
    .outputs = {"has"},
    .infer = infer,
    .boxed = boxed,
};

}  // namespace scanloom::ops
