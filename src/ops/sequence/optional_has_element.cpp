#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace optional_has_element {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, tensor::Type::scalar(DType::boolean));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  return give_scalar(call, 0, !call.inputs[0]->items().empty());
}

}  // namespace optional_has_element
}  // namespace

constinit const ir::OpDef optional_has_element_op{
    .name = "optional_has_element",
    .doc = "Whether the optional holds something.",
    .inputs = {{"optional", ir::Accept::optional}},
    .outputs = {"has"},
    .infer = optional_has_element::infer,
    .run_objects = optional_has_element::run_objects,
};

}  // namespace scanloom::ops
