#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace abs {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::abs, s.in(0)); }

}  // namespace abs
}  // namespace

constinit const ir::OpDef abs_op{
    .name = "abs",
    .doc = "Absolute value; of the least signed integer that integer itself.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<abs::scalar>,
    .reference = reference_from_scalar<abs::scalar>,
    .scalar = abs::scalar,
};

}  // namespace scanloom::ops
