// sinh and cosh from exp(|x|) / 2, which overflows where they do; near 0, sinh from exp(|x|) - 1:
// 2.5 and 1.5 ulp. asinh, acosh and atanh from log1p of sums that lose nothing near 0, or near 1
// for acosh (the formulas of FreeBSD's s_asinh.c, e_acosh.c, e_atanh.c): 2.5 ulp.
#pragma once

#include "base/math/exp.h"
#include "base/math/log.h"

namespace scanloom::math {

template <MathDomain M>
typename M::F sinh(const M& m, typename M::F x) {
  const auto one = m.constant(1), half = m.constant(0.5), quarter = m.constant(0.25);
  const auto size = m.abs(x);
  const auto power = exp_halved<1>(m, size);
  const auto far = m.sub(power, m.div(quarter, power));
  // With t = exp(|x|) - 1: (t + t / (t + 1)) / 2, in the form that keeps the digits of a small t.
  const auto t = expm1_bounded(m, at_most(m, size, 1));
  const auto near = m.mul(half, m.sub(m.add(t, t), m.div(m.mul(t, t), m.add(t, one))));
  const auto result = m.select(m.less(size, one), near, far);
  return m.select(m.is_nan(x), x, copy_sign(m, result, x));
}

template <MathDomain M>
typename M::F cosh(const M& m, typename M::F x) {
  const auto power = exp_halved<1>(m, m.abs(x));
  return m.add(power, m.div(m.constant(0.25), power));
}

/// Beyond this, the square of a number overflows or adding 1 to it changes nothing.
template <int kBits>
inline constexpr double kSquareIsAll = kBits == 64 ? 0x1p28 : 0x1p13;
inline constexpr double kLn2 = 6.93147180559945309417e-01;

template <MathDomain M>
typename M::F asinh(const M& m, typename M::F x) {
  const auto one = m.constant(1), limit = m.constant(kSquareIsAll<M::kBits>);
  const auto size = m.abs(x);
  const auto is_far = m.less(limit, size);
  const auto bounded = m.select(is_far, limit, size);
  const auto square = m.mul(bounded, bounded);
  const auto root = m.sqrt(m.add(one, square));
  const auto near = log1p_positive(m, m.add(bounded, m.div(square, m.add(one, root))));
  const auto far = m.add(log(m, size), m.constant(kLn2));
  const auto result = m.select(is_far, far, near);
  return m.select(m.is_nan(x), x, copy_sign(m, result, x));
}

template <MathDomain M>
typename M::F acosh(const M& m, typename M::F x) {
  const auto one = m.constant(1), limit = m.constant(kSquareIsAll<M::kBits>);
  const auto is_far = m.less(limit, x);
  // Below 1 the root is of a negative number, NaN, except at -1 and below.
  const auto t = m.sub(m.select(is_far, limit, x), one);
  const auto near = log1p_positive(m, m.add(t, m.sqrt(m.mul_add(t, t, m.add(t, t)))));
  const auto far = m.add(log(m, x), m.constant(kLn2));
  const auto result = m.select(is_far, far, near);
  const auto nan = m.constant(__builtin_nan(""));
  return m.select(m.is_nan(x), x, m.select(m.less(x, one), nan, result));
}

template <MathDomain M>
typename M::F atanh(const M& m, typename M::F x) {
  const auto one = m.constant(1), half = m.constant(0.5);
  const auto size = m.abs(x);
  const auto twice = m.add(size, size);
  const auto below = m.sub(one, size);
  const auto small = m.add(twice, m.div(m.mul(twice, size), below));
  const auto argument = m.select(m.less(size, half), small, m.div(twice, below));
  auto result = m.mul(half, log1p_positive(m, argument));
  result = m.select(m.equal(size, one), m.constant(Format<M::kBits>::kInfinity), result);
  result = m.select(m.less(one, size), m.constant(__builtin_nan("")), result);
  return m.select(m.is_nan(x), x, copy_sign(m, result, x));
}

}  // namespace scanloom::math
