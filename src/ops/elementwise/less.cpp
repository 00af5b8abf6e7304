#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace less {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::less, s.in(0), s.in(1)); }

}  // namespace less
}  // namespace

constinit const ir::OpDef less_op{
    .name = "less",
    .doc = "Whether a is less than b; false where either is NaN.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<less::scalar>,
    .reference = reference_from_scalar<less::scalar>,
    .scalar = less::scalar,
};

}  // namespace scanloom::ops
