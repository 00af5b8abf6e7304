#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace sin {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::sin, s.in(0)); }

}  // namespace sin
}  // namespace

constinit const ir::OpDef sin_op{
    .name = "sin",
    .doc = "Sine of an angle in radians.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<sin::scalar>,
    .reference = reference_from_scalar<sin::scalar>,
    .scalar = sin::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
