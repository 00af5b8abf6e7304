#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace softplus {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::softplus, s.in(0)); }

}  // namespace softplus
}  // namespace

constinit const ir::OpDef softplus_op{
    .name = "softplus",
    .doc = "log(1 + exp(x)).",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<softplus::scalar>,
    .reference = reference_from_scalar<softplus::scalar>,
    .scalar = softplus::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
