#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace elu {

ir::Reg scalar(ir::ScalarCtx& s) {
  const ir::Reg x = s.in(0);
  const DType dtype = s.dtype(x);
  const ir::Reg power = s.unary(ir::ScalarOp::exp, x);
  const ir::Reg grown = s.binary(ir::ScalarOp::sub, power, s.constant(1, dtype));
  const ir::Reg below = s.binary(ir::ScalarOp::mul, s.constant(s.attr(0).real(), dtype), grown);
  return s.select(s.binary(ir::ScalarOp::less, x, s.constant(0, dtype)), below, x);
}

}  // namespace elu
}  // namespace

constinit const ir::OpDef elu_op{
    .name = "elu",
    .doc = "x where it is not below 0, else alpha * (exp(x) - 1).",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"alpha", tensor::AttrKind::real}},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<elu::scalar>,
    .reference = reference_from_scalar<elu::scalar>,
    .scalar = elu::scalar,
};

}  // namespace scanloom::ops
