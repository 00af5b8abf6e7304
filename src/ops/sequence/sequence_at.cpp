#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace sequence_at {

constexpr int kSequence = 0;
constexpr int kPosition = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, any_item(ctx, ctx.in(kSequence)));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const std::span<const tensor::ObjectRef> items = call.inputs[kSequence]->items();
  SCANLOOM_TRY(const std::size_t at, position(call, kPosition, items.size(), 0));
  call.outputs[0] = items[at];
  return {};
}

}  // namespace sequence_at
}  // namespace

constinit const ir::OpDef sequence_at_op{
    .name = "sequence_at",
    .doc = "The item at `position`, which counts from the back where it is negative.",
    .inputs = {{"sequence", ir::Accept::sequence}, {"position", ir::Accept::index}},
    .outputs = {"item"},
    .effects = ir::Effects::may_fail,
    .infer = sequence_at::infer,
    .run_objects = sequence_at::run_objects,
};

}  // namespace scanloom::ops
