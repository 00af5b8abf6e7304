#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace cosh {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::cosh, s.in(0)); }

}  // namespace cosh
}  // namespace

constinit const ir::OpDef cosh_op{
    .name = "cosh",
    .doc = "Hyperbolic cosine.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<cosh::scalar>,
    .reference = reference_from_scalar<cosh::scalar>,
    .scalar = cosh::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
