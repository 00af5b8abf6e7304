#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace optional {

using tensor::ObjectRef;
using tensor::Type;

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_TRY(Type type, wrapped(ctx.in(0), tensor::Wrap::optional, ctx.dims()));
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  SCANLOOM_TRY(ObjectRef item, call.take(0));
  return call.give(0, ObjectRef::optional_of(std::move(item)));
}

}  // namespace optional
}  // namespace

constinit const ir::OpDef optional_op{
    .name = "optional",
    .doc = "An optional that holds the input.",
    .inputs = {{"item", ir::Accept::any}},
    .outputs = {"optional"},
    .infer = optional::infer,
    .run_objects = optional::run_objects,
};

}  // namespace scanloom::ops
