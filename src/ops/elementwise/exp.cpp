#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace exp {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::exp, s.in(0)); }

}  // namespace exp
}  // namespace

constinit const ir::OpDef exp_op{
    .name = "exp",
    .doc = "e to the power x.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<exp::scalar>,
    .reference = reference_from_scalar<exp::scalar>,
    .scalar = exp::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
