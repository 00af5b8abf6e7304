#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace ceil {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::ceil, s.in(0)); }

}  // namespace ceil
}  // namespace

constinit const ir::OpDef ceil_op{
    .name = "ceil",
    .doc = "The least whole number that is not below x.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<ceil::scalar>,
    .reference = reference_from_scalar<ceil::scalar>,
    .scalar = ceil::scalar,
};

}  // namespace scanloom::ops
