#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace sub {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::sub, s.in(0), s.in(1)); }

}  // namespace sub
}  // namespace

constinit const ir::OpDef sub_op{
    .name = "sub",
    .doc = "Difference; integers wrap.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<sub::scalar>,
    .reference = reference_from_scalar<sub::scalar>,
    .scalar = sub::scalar,
};

}  // namespace scanloom::ops
