#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace sequence_insert {

using tensor::ObjectCall;
using tensor::ObjectRef;
using tensor::Type;

constexpr int kSequence = 0;
constexpr int kItem = 1;
constexpr int kPosition = 2;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(const Type item, item_of_both(ctx, item_type(ctx.in(kSequence)), ctx.in(kItem),
                                             "the item to insert"));
  SCANLOOM_TRY(Type sequence, wrapped(item, tensor::Wrap::sequence, ctx.dims()));
  ctx.set(0, std::move(sequence));
  return {};
}

Expected<void> run_objects(const ObjectCall& call) {
  const std::size_t count = call.inputs[kSequence]->items().size();
  // n items have n + 1 insertion points; the last one cannot be counted from the end.
  std::size_t at = count;
  if (call.has(kPosition)) {
    SCANLOOM_TRY(const std::int64_t given, single_integer(call.tensor(kPosition), "the position"));
    const auto places = static_cast<std::int64_t>(count);
    if (given < -places || given > places)
      return fail(Code::invalid_argument, "position {} is outside [{}, {}]", given, -places,
                  places);
    at = static_cast<std::size_t>(given < 0 ? given + places : given);
  }
  SCANLOOM_TRY(ObjectRef item, call.take(kItem));
  ObjectRef sequence = call.take_unique(kSequence);
  sequence->insert(at, std::move(item));
  return call.give(0, std::move(sequence));
}

}  // namespace sequence_insert
}  // namespace

constinit const ir::OpDef sequence_insert_op{
    .name = "sequence_insert",
    .doc =
        "The sequence with `item` put before the one at `position`, which counts from the back "
        "where "
        "it is negative; without one, at the end.",
    .inputs = {{"sequence", ir::Accept::sequence},
               {.name = "item", .accept = ir::Accept::any, .same_as = 0},
               {"position", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"sequence"},
    .effects = ir::Effects::may_fail,
    .infer = sequence_insert::infer,
    .run_objects = sequence_insert::run_objects,
};

}  // namespace scanloom::ops
