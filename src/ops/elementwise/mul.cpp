#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace mul {

ir::Reg scalar(ir::ScalarCtx& s) { return s.binary(ir::ScalarOp::mul, s.in(0), s.in(1)); }

}  // namespace mul
}  // namespace

constinit const ir::OpDef mul_op{
    .name = "mul",
    .doc = "Product; integers wrap.",
    .inputs = {{"a", ir::Accept::numeric},
               {.name = "b", .accept = ir::Accept::numeric, .same_as = 0}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<mul::scalar>,
    .reference = reference_from_scalar<mul::scalar>,
    .scalar = mul::scalar,
};

}  // namespace scanloom::ops
