#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace leaky_relu {

ir::Reg scalar(ir::ScalarCtx& s) {
  const ir::Reg x = s.in(0);
  const DType dtype = s.dtype(x);
  const ir::Reg below = s.binary(ir::ScalarOp::mul, s.constant(s.attr(0).real(), dtype), x);
  return s.select(s.binary(ir::ScalarOp::less, x, s.constant(0, dtype)), below, x);
}

}  // namespace leaky_relu
}  // namespace

constinit const ir::OpDef leaky_relu_op{
    .name = "leaky_relu",
    .doc = "x where it is not below 0, else alpha * x.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"alpha", tensor::AttrKind::real}},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<leaky_relu::scalar>,
    .reference = reference_from_scalar<leaky_relu::scalar>,
    .scalar = leaky_relu::scalar,
};

}  // namespace scanloom::ops
