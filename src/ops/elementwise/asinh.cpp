#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace asinh {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::asinh, s.in(0)); }

}  // namespace asinh
}  // namespace

constinit const ir::OpDef asinh_op{
    .name = "asinh",
    .doc = "Inverse hyperbolic sine.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<asinh::scalar>,
    .reference = reference_from_scalar<asinh::scalar>,
    .scalar = asinh::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
