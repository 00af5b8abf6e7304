#include "ops/ops.h"
#include "ops/sequence/objects.h"

namespace scanloom::ops {
namespace {
namespace optional_empty {

using tensor::ObjectRef;
using tensor::Type;

constexpr int kDType = 0;
constexpr int kWraps = 1;

Expected<void> infer(ir::InferCtx& ctx) {
  Type item = Type::unranked(ctx.attr(kDType).dtype());
  for (const std::int64_t wrap : ctx.attr(kWraps).integers()) {
    if (wrap != 0 && wrap != 1)
      return invalid_model("wrap {} is neither 0 (a sequence) nor 1 (an optional)", wrap);
    item.wraps.push_back(static_cast<tensor::Wrap>(wrap));
  }
  if (item.wraps.size() > Type::kMaxWraps)
    return fail(Code::unsupported, "a type of {} levels exceeds the limit of {}", item.wraps.size(),
                Type::kMaxWraps);
  SCANLOOM_TRY(Type type, wrapped(item, tensor::Wrap::optional, ctx.dims()));
  ctx.set(0, std::move(type));
  return {};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  return call.give(0, ObjectRef::optional(call.attrs[kDType].dtype()));
}

}  // namespace optional_empty
}  // namespace

constinit const ir::OpDef optional_empty_op{
    .name = "optional_empty",
    .doc =
        "An optional that holds nothing, but could hold a tensor of that element type, or what "
        "`wraps` puts around one, outermost first: 0 a sequence, 1 an optional.",
    .outputs = {"optional"},
    .attrs = {{"dtype", tensor::AttrKind::dtype}, {"wraps", tensor::AttrKind::integers}},
    .infer = optional_empty::infer,
    .run_objects = optional_empty::run_objects,
};

}  // namespace scanloom::ops
