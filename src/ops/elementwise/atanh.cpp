#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace atanh {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::atanh, s.in(0)); }

}  // namespace atanh
}  // namespace

constinit const ir::OpDef atanh_op{
    .name = "atanh",
    .doc = "Inverse hyperbolic tangent. NaN outside [-1, 1].",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<atanh::scalar>,
    .reference = reference_from_scalar<atanh::scalar>,
    .scalar = atanh::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
