#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, ctx.in(0));
  pass_integers(ctx);
  return {};
}

}  // namespace

constinit const ir::OpDef dense_op{
    .name = "dense",
    .doc =
        "Its input in memory of its own, with neighbours along the last axis side by side: what "
        "reads it often gains where the input is a view that lies across. No front-end makes it.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .infer = infer,
    .reference = tensor::copy_kernel,
    .steps = {.axis = steps_unchanged},
};

}  // namespace scanloom::ops
