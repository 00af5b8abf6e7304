#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace sqrt {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::sqrt, s.in(0)); }

}  // namespace sqrt
}  // namespace

constinit const ir::OpDef sqrt_op{
    .name = "sqrt",
    .doc = "Square root; NaN below 0.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<sqrt::scalar>,
    .reference = reference_from_scalar<sqrt::scalar>,
    .scalar = sqrt::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
