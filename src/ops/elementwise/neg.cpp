#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::neg, s.in(0)); }

}  // namespace

constinit const ir::OpDef neg_op{
    .name = "neg",
    .doc = "x with the other sign; integers wrap.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<scalar>,
    .reference = reference_from_scalar<scalar>,
    .scalar = scalar,
};

}  // namespace scanloom::ops
