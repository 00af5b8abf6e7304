#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace is_inf {

ir::Reg scalar(ir::ScalarCtx& s) {
  const ir::Reg x = s.in(0);
  const bool negative = s.attr(0).integer() != 0, positive = s.attr(1).integer() != 0;
  if (!negative && !positive) return s.integer(0, DType::boolean);
  const ir::Reg infinite = s.unary(ir::ScalarOp::is_inf, x);
  if (negative && positive) return infinite;
  const ir::Reg zero = s.constant(0, s.dtype(x));
  const ir::Reg signed_right =
      negative ? s.binary(ir::ScalarOp::less, x, zero) : s.binary(ir::ScalarOp::less, zero, x);
  return s.binary(ir::ScalarOp::logical_and, infinite, signed_right);
}

}  // namespace is_inf
}  // namespace

constinit const ir::OpDef is_inf_op{
    .name = "is_inf",
    .doc = "Whether an element is infinite with a sign that is asked for.",
    .inputs = {{"x", ir::Accept::real}},
    .outputs = {"y"},
    .attrs = {{"detect_negative", tensor::AttrKind::integer},
              {"detect_positive", tensor::AttrKind::integer}},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<is_inf::scalar>,
    .reference = reference_from_scalar<is_inf::scalar>,
    .scalar = is_inf::scalar,
};

}  // namespace scanloom::ops
