#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace sign {

ir::Reg scalar(ir::ScalarCtx& s) { return s.unary(ir::ScalarOp::sign, s.in(0)); }

}  // namespace sign
}  // namespace

constinit const ir::OpDef sign_op{
    .name = "sign",
    .doc = "-1, 0 or 1; NaN of NaN.",
    .inputs = {{"x", ir::Accept::numeric}},
    .outputs = {"y"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<sign::scalar>,
    .reference = reference_from_scalar<sign::scalar>,
    .scalar = sign::scalar,
};

}  // namespace scanloom::ops
