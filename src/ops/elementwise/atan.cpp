#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace atan {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::atan, s.in(0)); }

}  // namespace atan
}  // namespace

constinit const ir::OpDef atan_op{
    .name = "atan",
    .doc = "Inverse tangent: the angle in radians, from -pi/2 to pi/2.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<atan::scalar>,
    .reference = reference_from_scalar<atan::scalar>,
    .scalar = atan::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
