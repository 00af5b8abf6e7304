#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace tanh {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::tanh, s.in(0)); }

}  // namespace tanh
}  // namespace

constinit const ir::OpDef tanh_op{
    .name = "tanh",
    .doc = "Hyperbolic tangent.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<tanh::scalar>,
    .reference = reference_from_scalar<tanh::scalar>,
    .scalar = tanh::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
