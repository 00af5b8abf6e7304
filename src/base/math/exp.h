// exp(x) = 2^n exp(r), n = round(x / ln 2), |r| <= ln 2 / 2 (Cody and Waite's reduction in two
// parts). f32: the polynomial of degree 6 with the least relative error, 3e-9, 1.1 ulp; f64: the
// series to degree 13, 1.1 ulp.
#pragma once

#include "base/math/domain.h"

namespace scanloom::math {

template <int kBits>
struct ExpFormat;

template <>
struct ExpFormat<32> {
  static constexpr double kLowest = -104, kHighest = 89, kBounded = 86;
  static constexpr double kLn2High = 0.693359375, kLn2Low = -2.12194440e-4;
  static constexpr double kMinSquare = 0x1p-100;
  /// exp(r) = 1 + r + r^2 (c0 + c1 r + ...)
  static constexpr double kCoefficients[] = {4.9999993412e-1, 1.6666520108e-1, 4.1668394213e-2,
                                             8.3687804097e-3, 1.3814466936e-3};
};

template <>
struct ExpFormat<64> {
  static constexpr double kLowest = -746, kHighest = 710, kBounded = 706;
  static constexpr double kLn2High = 6.93147180369123816490e-01;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kMinSquare = 0x1p-200;
  static constexpr double kCoefficients[] = {1.0 / 2,        1.0 / 6,         1.0 / 24,
                                             1.0 / 120,      1.0 / 720,       1.0 / 5040,
                                             1.0 / 40320,    1.0 / 362880,    1.0 / 3628800,
                                             1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
};

/// Whether the machine has an instruction that scales by powers of two.
template <MathDomain M>
bool scales(const M& m) {
  if constexpr (requires { m.scales(); })
    return m.scales();
  else
    return false;
}

/// a 2^n where scales(m).
template <MathDomain M>
typename M::F scale(const M& m, typename M::F a, typename M::F n) {
  if constexpr (requires { m.scale(a, n); })
    return m.scale(a, n);
  else
    return a;  // never called
}

/// x = n ln 2 + r; n as a number and in the low bits of an integer lane. Precondition: |x| below
/// 2^10, or NaN (then r and the number n are NaN).
template <MathDomain M>
struct ReducedByLn2 {
  typename M::F number_n;
  typename M::I low_bits_n;
  typename M::F r;
};

template <MathDomain M>
ReducedByLn2<M> reduce_by_ln2(const M& m, typename M::F x) {
  using Exp = ExpFormat<M::kBits>;
  const auto rounder = m.constant(Format<M::kBits>::kRounder);
  const auto shifted = m.mul_add(x, m.constant(1.44269504088896340736), rounder);
  const auto n = m.sub(shifted, rounder);
  // The upper part of ln 2 has so few bits that products with n are exact.
  const auto upper = m.mul_add(n, m.constant(-Exp::kLn2High), x);
  return {n, m.bits(shifted), m.mul_add(n, m.constant(-Exp::kLn2Low), upper)};
}

/// exp(r) - 1 for |r| <= ln 2 / 2. `square` is r r.
template <MathDomain M>
typename M::F expm1_reduced(const M& m, typename M::F r, typename M::F square) {
  return m.mul_add(paired_polynomial(m, r, square, ExpFormat<M::kBits>::kCoefficients), square, r);
}
template <MathDomain M>
typename M::F expm1_reduced(const M& m, typename M::F r) {
  return expm1_reduced(m, r, m.mul(r, r));
}

/// exp(r) for |r| <= ln 2 / 2. Where r is so small that kMinSquare shows in its square, exp(r) is
/// 1. Without it the square and its powers would be denormal, and some processors take 150 cycles
/// for each of these.
template <MathDomain M>
typename M::F exp_reduced(const M& m, typename M::F r) {
  const auto square = m.mul_add(r, r, m.constant(ExpFormat<M::kBits>::kMinSquare));
  return m.add(expm1_reduced(m, r, square), m.constant(1));
}

/// number 2^n, where both are normal: adds n to the exponent.
template <MathDomain M>
typename M::F raised_power(const M& m, typename M::I low_bits_n, typename M::F number) {
  return m.from_bits(
      m.add_int(m.shift_left(low_bits_n, Format<M::kBits>::kMantissaBits), m.bits(number)));
}

/// kExpLift makes 2^n normal for every n that gives a denormal result, and kExpSink for every n
/// that gives an infinite one.
inline constexpr double kExpLift = 0x1p64, kExpSink = 0x1p-64;

/// exp(x) / 2^kHalvings, which may be finite where exp(x) is not. NaN propagates.
template <int kHalvings, MathDomain M>
typename M::F exp_halved(const M& m, typename M::F x) {
  using Exp = ExpFormat<M::kBits>;
  const auto raised = at_least(m, x, Exp::kLowest);
  const auto reduced = reduce_by_ln2(m, at_most(m, raised, Exp::kHighest + kHalvings));
  const auto mantissa = exp_reduced(m, reduced.r);
  if (scales(m)) {
    const auto n = reduced.number_n;
    return scale(m, mantissa, kHalvings == 0 ? n : m.sub(n, m.constant(kHalvings)));
  }
  // The first product is exact, so denormal results are rounded once, and results beyond the
  // largest number become infinity.
  constexpr double kHalved = 1.0 / (1 << kHalvings);
  const auto lift = by_sign(m, x, m.constant(kExpLift * kHalved), m.constant(kExpSink * kHalved));
  const auto scaled = m.mul(mantissa, raised_power(m, reduced.low_bits_n, lift));
  return m.mul(scaled, by_sign(m, x, m.constant(kExpSink), m.constant(kExpLift)));
}

/// Bit-identical to exp(x) for |x| <= kBounded, in the fewest operations. Any number for NaN.
template <MathDomain M>
typename M::F exp_bounded(const M& m, typename M::F x) {
  const auto reduced = reduce_by_ln2(m, x);
  const auto mantissa = exp_reduced(m, reduced.r);
  if (scales(m)) return scale(m, mantissa, reduced.number_n);
  return raised_power(m, reduced.low_bits_n, mantissa);
}

template <MathDomain M>
typename M::F exp(const M& m, typename M::F x) {
  if constexpr (requires { m.all(m.less(x, x)); }) {
    const auto is_bounded = m.less(m.abs(x), m.constant(ExpFormat<M::kBits>::kBounded));
    if (!scales(m) && m.all(is_bounded)) return exp_bounded(m, x);
  }
  return exp_halved<0>(m, x);
}

/// Bit-identical to exp(x) for x <= 0 or NaN, in fewer operations. Inlined, because a call for each
/// vector takes longer.
template <MathDomain M>
[[gnu::always_inline]] inline typename M::F exp_nonpositive(const M& m, typename M::F x) {
  // If all x are bounded, no result is denormal or NaN.
  if constexpr (requires { m.all(m.less(x, x)); }) {
    const auto is_bounded = m.less(m.constant(-ExpFormat<M::kBits>::kBounded), x);
    if (!scales(m) && m.all(is_bounded)) return exp_bounded(m, x);
  }
  const auto reduced = reduce_by_ln2(m, at_least(m, x, ExpFormat<M::kBits>::kLowest));
  const auto mantissa = exp_reduced(m, reduced.r);
  if (scales(m)) return scale(m, mantissa, reduced.number_n);
  const auto lifted = raised_power(m, reduced.low_bits_n, m.constant(kExpLift));
  return m.mul(m.mul(mantissa, lifted), m.constant(kExpSink));
}

/// exp(x) - 1 for 0 <= x <= 64, or NaN. 2.3 ulp.
template <MathDomain M>
typename M::F expm1_bounded(const M& m, typename M::F x) {
  const auto reduced = reduce_by_ln2(m, x);
  const auto power = scales(m) ? scale(m, m.constant(1), reduced.number_n)
                               : raised_power(m, reduced.low_bits_n, m.constant(1));
  return m.mul_add(expm1_reduced(m, reduced.r), power, m.sub(power, m.constant(1)));
}

/// exp(x) - 1 for any x: 2.3 ulp.
template <MathDomain M>
typename M::F expm1(const M& m, typename M::F x) {
  // Below -64, the result is -1 in both formats.
  const auto raised = at_least(m, x, -64);
  const auto reduced = reduce_by_ln2(m, at_most(m, raised, ExpFormat<M::kBits>::kHighest));
  const auto rest = expm1_reduced(m, reduced.r);
  // Half the power is finite wherever the result is; doubling overflows wherever the result does.
  const auto half = scales(m) ? scale(m, m.constant(0.5), reduced.number_n)
                              : raised_power(m, reduced.low_bits_n, m.constant(0.5));
  const auto halved = m.mul_add(rest, half, m.sub(half, m.constant(0.5)));
  // Near 0 halving might round, and -0 must stay -0.
  const auto is_near = m.equal(reduced.number_n, m.constant(0));
  const auto result = m.select(is_near, rest, m.add(halved, halved));
  return m.select(m.is_nan(x), x, copy_sign(m, result, x));
}

}  // namespace scanloom::math
