// Rules of element-wise operators. The cotangent of a complex value z is that of its real part plus
// i times that of its imaginary part. So an analytic function multiplies its cotangent by the
// conjugate of its derivative (conj of a real number is that number), and a step along the gradient
// of a cost is the steepest one.
#include <numbers>

#include "expr/types.h"
#include "grad/rules.h"
#include "ops/ops.h"

namespace scanloom::autodiff {
namespace {

Expr masked(const Expr& condition, const Expr& g) {
  return where(condition, g, number(0, g.dtype()));
}

void pull_add(Pull& p) {
  p.give(0, p.g());
  p.give(1, p.g());
}
void pull_sub(Pull& p) {
  p.give(0, p.g());
  if (p.wanted[1]) p.give(1, -p.g());
}
void pull_mul(Pull& p) {
  if (p.wanted[0]) p.give(0, p.g() * conj(p.in(1)));
  if (p.wanted[1]) p.give(1, p.g() * conj(p.in(0)));
}
void pull_div(Pull& p) {
  const Expr part = p.g() / conj(p.in(1));
  p.give(0, part);
  if (p.wanted[1]) p.give(1, -(part * conj(p.out())));
}
void pull_neg(Pull& p) { p.give(0, -p.g()); }
/// For a complex number the slope is the direction in which it grows; at 0 it is 0.
void pull_abs(Pull& p) {
  const Expr& x = p.in(0);
  if (!expr::is_complex(x.dtype())) return p.give(0, p.g() * sign(x));
  const Expr zero = number(0, p.g().dtype());
  const Expr is_zero = equal(p.out(), zero);
  const Expr slope = where(is_zero, zero, p.g() / where(is_zero, number(1, zero.dtype()), p.out()));
  p.give(0, slope * x);
}
void pull_exp(Pull& p) { p.give(0, p.g() * conj(p.out())); }
/// Computed from the operand: if the result is close to -1, exp(x) cannot be recovered from it.
void pull_expm1(Pull& p) { p.give(0, p.g() * exp(conj(p.in(0)))); }
void pull_log(Pull& p) { p.give(0, p.g() / conj(p.in(0))); }
void pull_log1p(Pull& p) { p.give(0, p.g() / (1 + conj(p.in(0)))); }
void pull_sqrt(Pull& p) { p.give(0, p.g() * 0.5 / conj(p.out())); }
void pull_sin(Pull& p) { p.give(0, p.g() * cos(conj(p.in(0)))); }
void pull_cos(Pull& p) { p.give(0, -(p.g() * sin(conj(p.in(0))))); }
void pull_asin(Pull& p) { p.give(0, p.g() / conj(sqrt(1 - p.in(0) * p.in(0)))); }
void pull_acos(Pull& p) { p.give(0, -(p.g() / conj(sqrt(1 - p.in(0) * p.in(0))))); }
void pull_atan(Pull& p) { p.give(0, p.g() / conj(1 + p.in(0) * p.in(0))); }
void pull_sinh(Pull& p) { p.give(0, p.g() * conj(cosh(p.in(0)))); }
void pull_cosh(Pull& p) { p.give(0, p.g() * conj(sinh(p.in(0)))); }
void pull_tanh(Pull& p) { p.give(0, p.g() * conj(1 - p.out() * p.out())); }
void pull_asinh(Pull& p) { p.give(0, p.g() / conj(sqrt(p.in(0) * p.in(0) + 1))); }
/// Uses two roots for a complex number: their product has the branch cut of acosh.
void pull_acosh(Pull& p) {
  const Expr& x = p.in(0);
  const Expr slope = expr::is_complex(x.dtype()) ? sqrt(x - 1) * sqrt(x + 1) : sqrt(x * x - 1);
  p.give(0, p.g() / conj(slope));
}
void pull_atanh(Pull& p) { p.give(0, p.g() / conj(1 - p.in(0) * p.in(0))); }
void pull_erf(Pull& p) {
  const double factor = 2 * std::numbers::inv_sqrtpi;
  p.give(0, p.g() * (factor * exp(-(p.in(0) * p.in(0)))));
}
void pull_sigmoid(Pull& p) { p.give(0, p.g() * (p.out() * (1 - p.out()))); }
void pull_softplus(Pull& p) { p.give(0, p.g() * sigmoid(p.in(0))); }
void pull_relu(Pull& p) { p.give(0, masked(p.in(0) > 0, p.g())); }
void pull_leaky_relu(Pull& p) {
  p.give(0, where(p.in(0) < 0, p.g() * Expr(p.attr("alpha").real()), p.g()));
}
void pull_elu(Pull& p) {
  p.give(0, where(p.in(0) < 0, p.g() * (p.out() + Expr(p.attr("alpha").real())), p.g()));
}
void pull_hard_sigmoid(Pull& p) {
  p.give(0, masked((p.out() > 0) & (p.out() < 1), p.g() * Expr(p.attr("alpha").real())));
}
void pull_pow(Pull& p) {
  // x to the power 0 is constant, even at 0.
  const Expr zero = number(0, p.in(1).dtype());
  if (p.wanted[0])
    p.give(0, masked(not_equal(p.in(1), zero),
                     p.g() * conj(p.in(1)) * conj(pow(p.in(0), p.in(1) - 1))));
  // 0 to a power does not change with the power.
  if (p.wanted[1])
    p.give(1, masked(not_equal(p.in(0), number(0, p.in(0).dtype())),
                     p.g() * conj(p.out()) * conj(log(p.in(0)))));
}
/// Among equal operands the first gets the whole cotangent, as in Theano.
void pull_min_max(Pull& p) {
  const Expr first = equal(p.out(), p.in(0));
  if (p.wanted[0]) p.give(0, masked(first, p.g()));
  if (p.wanted[1]) p.give(1, masked(~first, p.g()));
}
void pull_where(Pull& p) {
  if (p.wanted[1]) p.give(1, masked(p.in(0), p.g()));
  if (p.wanted[2]) p.give(2, where(p.in(0), number(0, p.g().dtype()), p.g()));
}
void pull_clip(Pull& p) {
  const Expr inside = equal(p.out(), p.in(0));
  if (p.wanted[0]) p.give(0, masked(inside, p.g()));
  for (const std::size_t i : {1, 2})
    if (i < p.wanted.size() && p.wanted[i])
      p.give(i, sum(masked(~inside & equal(p.out(), p.in(i)), p.g())));
}
/// For a real number that became complex only the real part counts.
void pull_cast(Pull& p) {
  const DType to = p.in(0).dtype();
  p.give(0, cast(expr::is_complex(to) ? p.g() : real(p.g()), to));
}
void pull_identity(Pull& p) { p.give(0, p.g()); }
/// The result is a - trunc(a / b) b, or the same with floor.
void pull_mod(Pull& p) {
  p.give(0, p.g());
  if (!p.wanted[1]) return;
  p.give(1, -(p.g() * round((p.in(0) - p.out()) / p.in(1))));
}

}  // namespace

std::span<const RuleRow> elementwise_rules() {
  static const RuleRow rows[] = {
      {&ops::add_op, pull_add},
      {&ops::sub_op, pull_sub},
      {&ops::mul_op, pull_mul},
      {&ops::div_op, pull_div},
      {&ops::neg_op, pull_neg},
      {&ops::abs_op, pull_abs},
      {&ops::exp_op, pull_exp},
      {&ops::expm1_op, pull_expm1},
      {&ops::log_op, pull_log},
      {&ops::log1p_op, pull_log1p},
      {&ops::sqrt_op, pull_sqrt},
      {&ops::sin_op, pull_sin},
      {&ops::cos_op, pull_cos},
      {&ops::asin_op, pull_asin},
      {&ops::acos_op, pull_acos},
      {&ops::atan_op, pull_atan},
      {&ops::sinh_op, pull_sinh},
      {&ops::cosh_op, pull_cosh},
      {&ops::tanh_op, pull_tanh},
      {&ops::asinh_op, pull_asinh},
      {&ops::acosh_op, pull_acosh},
      {&ops::atanh_op, pull_atanh},
      {&ops::erf_op, pull_erf},
      {&ops::sigmoid_op, pull_sigmoid},
      {&ops::softplus_op, pull_softplus},
      {&ops::relu_op, pull_relu},
      {&ops::leaky_relu_op, pull_leaky_relu},
      {&ops::elu_op, pull_elu},
      {&ops::hard_sigmoid_op, pull_hard_sigmoid},
      {&ops::pow_op, pull_pow},
      {&ops::max_op, pull_min_max},
      {&ops::min_op, pull_min_max},
      {&ops::where_op, pull_where},
      {&ops::clip_op, pull_clip},
      {&ops::cast_op, pull_cast},
      {&ops::identity_op, pull_identity},
      {&ops::dense_op, pull_identity},
      {&ops::mod_op, pull_mod},
      {.op = &ops::sign_op, .rule = nullptr, .constant = true},
      {.op = &ops::floor_op, .rule = nullptr, .constant = true},
      {.op = &ops::ceil_op, .rule = nullptr, .constant = true},
      {.op = &ops::round_op, .rule = nullptr, .constant = true},
  };
  return rows;
}

}  // namespace scanloom::autodiff
