#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace equal {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::equal, s.in(0), s.in(1)); }

}  // namespace equal
}  // namespace

constinit const ir::OpDef equal_op{
    .name = "equal",
    .doc = "Whether two elements are equal; NaN equals nothing.",
    .inputs = {{"a", ir::Accept::tensor},
               {.name = "b", .accept = ir::Accept::tensor, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<equal::scalar>,
    .reference = reference_from_scalar<equal::scalar>,
    .scalar = equal::scalar,
};

}  // namespace scanloom::ops
