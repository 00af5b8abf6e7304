#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace sequence_empty {

using tensor::ObjectRef;

constexpr int kDType = 0;

Expected<void> infer(ir::InferCtx& ctx) {
  tensor::Type type = tensor::Type::unranked(ctx.attr(kDType).dtype());
  type.wraps = {tensor::Wrap::sequence};
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  return call.give(0, ObjectRef::sequence(call.attrs[kDType].dtype()));
}

}  // namespace sequence_empty
}  // namespace

constinit const ir::OpDef sequence_empty_op{
    .name = "sequence_empty",
    .doc = "A sequence without items, which will be tensors of that element type.",
    .outputs = {"sequence"},
    .attrs = {{"dtype", tensor::AttrKind::dtype}},
    .infer = sequence_empty::infer,
    .run_objects = sequence_empty::run_objects,
};

}  // namespace scanloom::ops
