#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace sequence_construct {

using tensor::ObjectCall;
using tensor::ObjectRef;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  if (ctx.input_count() == 0)
    return invalid_model("a sequence needs an item to determine its type");
  Type item = ctx.in(0);
  for (int i = 1; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(item, item_of_both(ctx, item, ctx.in(i), fmt::format("item {}", i)));
  }
  SCANLOOM_TRY(Type sequence, wrapped(item, tensor::Wrap::sequence, ctx.dims()));
  ctx.set(0, std::move(sequence));
  return {};
}

Expected<void> run_objects(const ObjectCall& call) {
  ObjectRef sequence = ObjectRef::sequence(call.inputs[0]->dtype());
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    SCANLOOM_TRY(ObjectRef item, call.take(i));
    sequence->push_back(std::move(item));
  }
  return call.give(0, std::move(sequence));
}

}  // namespace sequence_construct
}  // namespace

constinit const ir::OpDef sequence_construct_op{
    .name = "sequence_construct",
    .doc = "A sequence of the inputs, of which there is at least one.",
    .inputs = {{"items", ir::Accept::any, ir::Arity::variadic}},
    .outputs = {"sequence"},
    .infer = sequence_construct::infer,
    .run_objects = sequence_construct::run_objects,
};

}  // namespace scanloom::ops
