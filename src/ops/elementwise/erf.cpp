#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace erf {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::erf, s.in(0)); }

}  // namespace erf
}  // namespace

constinit const ir::OpDef erf_op{
    .name = "erf",
    .doc = "Error function.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<erf::scalar>,
    .reference = reference_from_scalar<erf::scalar>,
    .scalar = erf::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
