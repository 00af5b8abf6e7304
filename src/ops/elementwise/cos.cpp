#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace cos {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::cos, s.in(0)); }

}  // namespace cos
}  // namespace

constinit const ir::OpDef cos_op{
    .name = "cos",
    .doc = "Cosine of an angle in radians.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<cos::scalar>,
    .reference = reference_from_scalar<cos::scalar>,
    .scalar = cos::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
