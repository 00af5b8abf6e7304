#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace sequence_length {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, tensor::Type::scalar(DType::i64));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  return give_scalar(call, 0, static_cast<std::int64_t>(call.inputs[0]->items().size()));
}

}  // namespace sequence_length
}  // namespace

constinit const ir::OpDef sequence_length_op{
    .name = "sequence_length",
    .doc = "How many items the sequence has.",
    .inputs = {{"sequence", ir::Accept::sequence}},
    .outputs = {"length"},
    .infer = sequence_length::infer,
    .run_objects = sequence_length::run_objects,
};

}  // namespace scanloom::ops
