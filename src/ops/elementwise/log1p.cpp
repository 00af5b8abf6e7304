#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace log1p {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::log1p, s.in(0)); }

}  // namespace log1p
}  // namespace

constinit const ir::OpDef log1p_op{
    .name = "log1p",
    .doc = "log(1 + x), accurate for small x; NaN below -1.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<log1p::scalar>,
    .reference = reference_from_scalar<log1p::scalar>,
    .scalar = log1p::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
