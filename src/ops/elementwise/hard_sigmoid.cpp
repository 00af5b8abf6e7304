#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace hard_sigmoid {

ir::Reg scalar(ir::ScalarCtx& s) {
  const DType dtype = s.dtype(s.in(0));
  const ir::Reg scaled = s.binary(ir::ScalarOp::mul, s.constant(s.attr(0).real(), dtype), s.in(0));
  const ir::Reg line = s.binary(ir::ScalarOp::add, scaled, s.constant(s.attr(1).real(), dtype));
  const ir::Reg limited = s.binary(ir::ScalarOp::min, line, s.constant(1, dtype));
  return s.binary(ir::ScalarOp::max, limited, s.constant(0, dtype));
}

}  // namespace hard_sigmoid
}  // namespace

constinit const ir::OpDef hard_sigmoid_op{
    .name = "hard_sigmoid",
    .doc = "alpha * x + beta, limited to [0, 1].",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"alpha", tensor::AttrKind::real}, {"beta", tensor::AttrKind::real}},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<hard_sigmoid::scalar>,
    .reference = reference_from_scalar<hard_sigmoid::scalar>,
    .scalar = hard_sigmoid::scalar,
};

}  // namespace scanloom::ops
