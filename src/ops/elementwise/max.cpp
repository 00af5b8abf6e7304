#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace max {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::max, s.in(0), s.in(1)); }

}  // namespace max
}  // namespace

constinit const ir::OpDef max_op{
    .name = "max",
    .doc = "The greater of two; NaN where either is NaN, and -0 is below +0.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<max::scalar>,
    .reference = reference_from_scalar<max::scalar>,
    .scalar = max::scalar,
};

}  // namespace scanloom::ops
