#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace min {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::min, s.in(0), s.in(1)); }

}  // namespace min
}  // namespace

constinit const ir::OpDef min_op{
    .name = "min",
    .doc = "The lesser of two; NaN where either is NaN, and -0 is below +0.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<min::scalar>,
    .reference = reference_from_scalar<min::scalar>,
    .scalar = min::scalar,
};

}  // namespace scanloom::ops
