#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace sequence_erase {

using tensor::ObjectRef;

constexpr int kSequence = 0;
constexpr int kPosition = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, ctx.in(kSequence));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  const std::size_t count = call.inputs[kSequence]->items().size();
  if (count == 0)
    return fail(Code::invalid_argument, "no item can be erased from a sequence of 0 items");
  SCANLOOM_TRY(const std::size_t at, position(call, kPosition, count, count - 1));
  ObjectRef sequence = call.take_unique(kSequence);
  sequence->erase(at);
  return call.give(0, std::move(sequence));
}

}  // namespace sequence_erase
}  // namespace

constinit const ir::OpDef sequence_erase_op{
    .name = "sequence_erase",
    .doc =
        "The sequence without the item at `position`, which counts from the back where it is "
        "negative; without one, the last.",
    .inputs = {{"sequence", ir::Accept::sequence},
               {"position", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"sequence"},
    .effects = ir::Effects::may_fail,
    .infer = sequence_erase::infer,
    .run_objects = sequence_erase::run_objects,
};

}  // namespace scanloom::ops
