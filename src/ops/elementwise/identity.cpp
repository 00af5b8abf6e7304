#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace identity {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, ctx.in(0));
  pass_integers(ctx);
  return {};
}

std::optional<ir::ViewOf> view(const ir::ViewCtx& ctx) {
  return ir::ViewOf{.offset = 0, .dims = ctx.dims, .strides = ctx.strides};
}

Expected<void> run_objects(const tensor::ObjectCall& call) {
  call.outputs[0] = std::move(call.inputs[0]);
  return {};
}

}  // namespace identity
}  // namespace

constinit const ir::OpDef identity_op{
    .name = "identity",
    .doc = "Its input.",
    .inputs = {{"x", ir::Accept::any}},
    .outputs = {"y"},
    .access = ir::Access::view,
    .infer = identity::infer,
    .reference = tensor::copy_kernel,
    .run_objects = identity::run_objects,
    .view = identity::view,
    .keeps_order = true,
    .steps = {.axis = steps_unchanged},
};

}  // namespace scanloom::ops
