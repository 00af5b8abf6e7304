#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace acosh {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::acosh, s.in(0)); }

}  // namespace acosh
}  // namespace

constinit const ir::OpDef acosh_op{
    .name = "acosh",
    .doc = "Inverse hyperbolic cosine, not negative. NaN below 1.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<acosh::scalar>,
    .reference = reference_from_scalar<acosh::scalar>,
    .scalar = acosh::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
