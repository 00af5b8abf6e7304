#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace logical_not {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::logical_not, s.in(0)); }

}  // namespace logical_not
}  // namespace

constinit const ir::OpDef logical_not_op{
    .name = "logical_not",
    .doc = "Whether x does not hold.",
    .inputs = {{"x", ir::Accept::boolean}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<logical_not::scalar>,
    .reference = reference_from_scalar<logical_not::scalar>,
    .scalar = logical_not::scalar,
};

}  // namespace scanloom::ops
