#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace map_values {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, any_item(ctx, ctx.in(0)));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  call.outputs[0] = call.inputs[0]->items()[1];
  return {};
}

}  // namespace map_values
}  // namespace

constinit const ir::OpDef map_values_op{
    .name = "map_values",
    .doc = "The values of a map, in ascending order of their keys.",
    .inputs = {{"map", ir::Accept::map}},
    .outputs = {"values"},
    .infer = map_values::infer,
    .run_objects = map_values::run_objects,
};

}  // namespace scanloom::ops
