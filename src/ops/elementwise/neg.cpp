#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace neg {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::neg, s.in(0)); }

}  // namespace neg
}  // namespace

constinit const ir::OpDef neg_op{
    .name = "neg",
    .doc = "x with the other sign; integers wrap.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<neg::scalar>,
    .reference = reference_from_scalar<neg::scalar>,
    .scalar = neg::scalar,
};

}  // namespace scanloom::ops
