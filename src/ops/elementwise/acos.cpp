#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace acos {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::acos, s.in(0)); }

}  // namespace acos
}  // namespace

constinit const ir::OpDef acos_op{
    .name = "acos",
    .doc = "Inverse cosine: the angle in radians, from 0 to pi. NaN outside [-1, 1].",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<acos::scalar>,
    .reference = reference_from_scalar<acos::scalar>,
    .scalar = acos::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
