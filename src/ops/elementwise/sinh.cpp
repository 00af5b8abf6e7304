#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace sinh {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::sinh, s.in(0)); }

}  // namespace sinh
}  // namespace

constinit const ir::OpDef sinh_op{
    .name = "sinh",
    .doc = "Hyperbolic sine.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<sinh::scalar>,
    .reference = reference_from_scalar<sinh::scalar>,
    .scalar = sinh::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
