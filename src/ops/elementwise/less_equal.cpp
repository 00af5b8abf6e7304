#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace less_equal {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::less_equal, s.in(0), s.in(1)); }

}  // namespace less_equal
}  // namespace

constinit const ir::OpDef less_equal_op{
    .name = "less_equal",
    .doc = "Whether a is at most b; false where either is NaN.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<less_equal::scalar>,
    .reference = reference_from_scalar<less_equal::scalar>,
    .scalar = less_equal::scalar,
};

}  // namespace scanloom::ops
