#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace asin {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::asin, s.in(0)); }

}  // namespace asin
}  // namespace

constinit const ir::OpDef asin_op{
    .name = "asin",
    .doc = "Inverse sine: the angle in radians, from -pi/2 to pi/2. NaN outside [-1, 1].",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<asin::scalar>,
    .reference = reference_from_scalar<asin::scalar>,
    .scalar = asin::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
