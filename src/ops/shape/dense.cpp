#include "ops/ops.h"
#include "ops/sizes.h"
#include "ops/step_rules.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace dense {

Expected<void> infer(ir::InferCtx& ctx) {
  ctx.set(0, ctx.in(0));
  pass_integers(ctx);
  return {};
}

}  // namespace dense
}  // namespace

constinit const ir::OpDef dense_op{
    .name = "dense",
    .doc =
        "A contiguous copy of its input. It pays where a strided view is read many times. No "
        "front-end makes it.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .infer = dense::infer,
    .reference = tensor::copy_kernel,
    .steps = {.axis = steps_unchanged},
};

}  // namespace scanloom::ops
