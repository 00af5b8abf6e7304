#include "ops/ops.h"
#include "ops/pointwise.h"

namespace scanloom::ops {
namespace {
namespace pow {

// Returns the dtype that holds every value of both, if there is one. Rounding an exponent to the
// base's type could turn an odd number even, or a half into 0.
DType common_dtype(DType base, DType exponent) {
  if (base == exponent) return base;
  if (is_integer(base) && is_integer(exponent))
    return exponent == DType::u64 ? DType::u64 : DType::i64;  // low bits agree in both
  const bool exact_in_f32 = dtype_bytes(exponent) < 4;
  return base == DType::f32 && exact_in_f32 ? DType::f32 : DType::f64;
}

ir::Reg scalar(ir::ScalarCtx& s) {
  const ir::Reg base = s.in(0), exponent = s.in(1);
  const DType own = s.dtype(base), common = common_dtype(own, s.dtype(exponent));
  const ir::Reg wide_base = own == common ? base : s.cast(base, common);
  const ir::Reg wide_exponent = s.dtype(exponent) == common ? exponent : s.cast(exponent, common);
  const ir::Reg power = s.binary(ir::ScalarOp::pow, wide_base, wide_exponent);
  return own == common ? power : s.cast(power, own);
}

}  // namespace pow
}  // namespace

constinit const ir::OpDef pow_op{
    .name = "pow",
    .doc = "x to the power y, in the element type of x; powers of integers wrap.",
    .inputs = {{"x", ir::Accept::numeric}, {"y", ir::Accept::numeric}},
    .outputs = {"z"},
    .access = ir::Access::pointwise,
    .infer = infer_from_scalar<pow::scalar>,
    .reference = reference_from_scalar<pow::scalar>,
    .scalar = pow::scalar,
    .recompute = ir::Recompute::expensive,
};

}  // namespace scanloom::ops
