#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace expm1 {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::expm1, s.in(0)); }

}  // namespace expm1
}  // namespace

constinit const ir::OpDef expm1_op{
    .name = "expm1",
    .doc = "exp(x) - 1, accurate for small x.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<expm1::scalar>,
    .reference = reference_from_scalar<expm1::scalar>,
    .scalar = expm1::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
