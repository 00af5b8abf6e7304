// pow(x, y) = 2^(y log2 |x|), with the sign that the parity of y gives. f32: the exponent and its
// power in f64, 0.501 ulp. f64: the logarithm in two parts of which the upper one has so few bits
// that products with it are exact (the method of FreeBSD's e_pow.c), 0.6 ulp. Special cases are
// C's; pow(x, 1) is x, pow(x, 2) is x x, and pow(x, 3) is (x x) x, each product rounded.
#pragma once

#include "base/math/exp.h"
#include "base/math/log.h"

namespace scanloom::math {

/// size = mantissa 2^exponent, sqrt(1/2) <= mantissa < sqrt(2). The exponent of 0 is -infinity,
/// that of infinity and NaN the number itself.
template <MathDomain M>
struct SplitNumber {
  typename M::F mantissa, exponent;
};

template <MathDomain M>
SplitNumber<M> split_number(const M& m, typename M::F size) {
  using Log = LogFormat<M::kBits>;
  using Fmt = Format<M::kBits>;
  const auto zero = m.constant(0), infinity = m.constant(Fmt::kInfinity);
  const auto tiny = m.less(size, m.constant(Fmt::kSmallestNormal));
  const auto normal = m.select(tiny, m.mul(size, m.constant(Log::kDenormalScale)), size);
  const auto offset = m.sub_int(m.bits(normal), m.integer(Log::kSqrtHalfBits));
  auto exponent = m.to_float(m.shift_right(offset, Fmt::kMantissaBits));
  exponent = m.sub(exponent, m.select(tiny, m.constant(Log::kDenormalExponent), zero));
  exponent = m.select(m.equal(size, zero), m.neg(infinity), exponent);
  return {m.from_bits(m.add_int(m.and_int(offset, m.integer(Fmt::kMantissaMask)),
                                m.integer(Log::kSqrtHalfBits))),
          m.select(m.less(size, infinity), exponent, size)};
}

/// (mantissa 2^exponent)^y in f64, for operands that are numbers of f32: within 2^-38.
struct PowerOfShort {
  static constexpr double kLog2[] = {2.8853900817778500114,  0.96179669411330667963,
                                     0.57707794237677140468, 0.41220925105675626571,
                                     0.31990575496300766627, 0.2828992836218694807};
  static constexpr double kExp2[] = {
      0.99999999999976187535,    0.69314718054649304704,     0.24022650698885064547,
      0.055504109394278955975,   0.0096181285421939009896,   0.0013333451978400102474,
      0.00015403852001191517371, 0.000015309760000023942175, 1.3175842999624314503e-6};

  template <MathDomain M>
    requires(M::kBits == 64)
  typename M::F operator()(const M& m, typename M::F mantissa, typename M::F exponent,
                           typename M::F y) const {
    // log2(1 + f) = s P(s^2), s = f / (2 + f).
    const auto s = m.div(m.sub(mantissa, m.constant(1)), m.add(mantissa, m.constant(1)));
    const auto z = m.mul(s, s);
    const auto log2 = m.mul_add(s, paired_polynomial(m, z, m.mul(z, z), kLog2), exponent);
    // Beyond these, results are 0 or infinite in f32.
    const auto product = at_most(m, at_least(m, m.mul(y, log2), -160), 160);
    const auto rounder = m.constant(Format<64>::kRounder);
    const auto shifted = m.add(product, rounder);
    const auto rest = m.sub(product, m.sub(shifted, rounder));
    const auto power = paired_polynomial(m, rest, m.mul(rest, rest), kExp2);
    // A NaN stays one: the low bits of those that were f32 are 0.
    return m.from_bits(
        m.add_int(m.bits(power), m.shift_left(m.bits(shifted), Format<64>::kMantissaBits)));
  }
};

template <MathDomain M>
  requires(M::kBits == 32)
typename M::F pow_of_size(const M& m, const SplitNumber<M>& size, typename M::F y) {
  return m.in_double(PowerOfShort(), size.mantissa, size.exponent, y);
}

namespace pow64 {
/// log(1 + f) = 2/3 s (3 + s^2 + s^4 R(s^2)), s = f / (2 + f).
inline constexpr double kRest[] = {0.599999999999999662628, 0.428571428571676496974,
                                   0.33333333326309024662,  0.272727283049392221441,
                                   0.230768353429282212047, 0.200044747244046421232,
                                   0.175122563068475903187, 0.179832816826021116709};
/// 2 / (3 ln 2), rounded, and in two parts of which the first has 21 bits.
inline constexpr double kFactor = 9.61796693925975554329e-01;
inline constexpr double kFactorHigh = 9.61796700954437255859e-01;
inline constexpr double kFactorLow = -7.02846165095275826516e-09;
/// ln 2 in the same way.
inline constexpr double kLn2 = 6.93147180559945286227e-01;
inline constexpr double kLn2High = 6.93147182464599609375e-01;
inline constexpr double kLn2Low = -1.90465429995776804525e-09;

/// The upper 21 bits of the significand.
template <MathDomain M>
typename M::F upper(const M& m, typename M::F x) {
  return m.from_bits(m.and_int(m.bits(x), m.integer(-(std::int64_t{1} << 32))));
}

template <MathDomain M>
struct TwoParts {
  typename M::F high, low;  // high has 21 bits
};

/// log2 of a split number, within 2^-66 of the larger of 1 and its size.
template <MathDomain M>
TwoParts<M> log2(const M& m, const SplitNumber<M>& size) {
  const auto f = m.sub(size.mantissa, m.constant(1)), sum = m.add(size.mantissa, m.constant(1));
  const auto inverse = m.div(m.constant(1), sum);
  const auto s = m.mul(f, inverse), s_high = upper(m, s);
  const auto sum_high = upper(m, sum);
  const auto sum_low = m.sub(size.mantissa, m.sub(sum_high, m.constant(1)));
  const auto s_low =
      m.mul(inverse, m.sub(m.sub(f, m.mul(s_high, sum_high)), m.mul(s_high, sum_low)));
  const auto z = m.mul(s, s), fourth = m.mul(z, z);
  const auto rest =
      m.mul_add(fourth, paired_polynomial(m, z, fourth, kRest), m.mul(s_low, m.add(s_high, s)));
  const auto square = m.mul(s_high, s_high);
  const auto three = m.constant(3);
  const auto high = upper(m, m.add(m.add(square, rest), three));
  const auto low = m.sub(rest, m.sub(m.sub(high, three), square));
  // s (3 + s^2 + s^4 R)
  const auto product = m.mul(s_high, high);
  const auto product_low = m.mul_add(s_low, high, m.mul(low, s));
  const auto log_high = upper(m, m.add(product, product_low));
  const auto log_low = m.sub(product_low, m.sub(log_high, product));
  const auto scaled = m.mul(m.constant(kFactorHigh), log_high);
  const auto scaled_low =
      m.mul_add(m.constant(kFactorLow), log_high, m.mul(log_low, m.constant(kFactor)));
  const auto all = upper(m, m.add(m.add(scaled, scaled_low), size.exponent));
  return {all, m.sub(scaled_low, m.sub(m.sub(all, size.exponent), scaled))};
}

/// 2^(high + low), rounded once. Precondition: between -1080 and 1080.
template <MathDomain M>
typename M::F exp2(const M& m, typename M::F high, typename M::F low) {
  const auto rounder = m.constant(Format<64>::kRounder);
  const auto shifted = m.add(m.add(high, low), rounder);
  const auto n = m.sub(shifted, rounder);
  const auto rest = m.sub(high, n), upper_rest = upper(m, m.add(rest, low));
  // r + lost = (rest + low) ln 2
  const auto product = m.mul(upper_rest, m.constant(kLn2High));
  const auto product_low = m.mul_add(m.sub(low, m.sub(upper_rest, rest)), m.constant(kLn2),
                                     m.mul(upper_rest, m.constant(kLn2Low)));
  const auto r = m.add(product, product_low);
  const auto lost = m.sub(product_low, m.sub(r, product));
  const auto square = m.mul(r, r), one = m.constant(1);
  const auto terms = m.mul_add(paired_polynomial(m, r, square, ExpFormat<64>::kCoefficients),
                               square, m.mul_add(lost, r, lost));
  const auto head = m.add(one, r);
  const auto mantissa = m.add(head, m.add(m.sub(r, m.sub(head, one)), terms));
  if (scales(m)) return scale(m, mantissa, n);
  const auto lift = by_sign(m, n, m.constant(kExpLift), m.constant(kExpSink));
  const auto lifted = m.mul(mantissa, raised_power(m, m.bits(shifted), lift));
  return m.mul(lifted, by_sign(m, n, m.constant(kExpSink), m.constant(kExpLift)));
}
}  // namespace pow64

/// The power where it is neither infinite nor 0 for sure.
template <MathDomain M>
  requires(M::kBits == 64)
typename M::F pow_of_size(const M& m, const SplitNumber<M>& size, typename M::F y) {
  const auto log = pow64::log2(m, size);
  const auto y_high = pow64::upper(m, y);
  const auto low = m.mul_add(m.sub(y, y_high), log.high, m.mul(y, log.low));
  const auto near = pow64::exp2(m, m.mul(y_high, log.high), low);
  // Infinite or NaN as the exponent is; its parts may be NaN there.
  const auto rough = m.mul(y, log.high), zero = m.constant(0);
  const auto far = m.select(m.less(rough, zero), zero, m.mul(rough, m.constant(0x1p1023)));
  return m.select(m.less(m.abs(rough), m.constant(1080)), near, far);
}

template <MathDomain M>
typename M::F pow(const M& m, typename M::F x, typename M::F y) {
  using Fmt = Format<M::kBits>;
  const auto zero = m.constant(0), one = m.constant(1);
  const auto size = m.abs(x);
  // 1 to an infinite power is 1.
  const auto of_size = m.select(m.equal(size, one), one, pow_of_size(m, split_number(m, size), y));
  // Odd powers keep the sign.
  const auto half = m.mul(y, m.constant(0.5));
  const auto is_whole = m.equal(m.round(y), y), is_half_whole = m.equal(m.round(half), half);
  const auto sign = m.from_bits(m.and_int(m.bits(x), m.integer(Fmt::kSignMask)));
  const auto kept = m.select(is_half_whole, zero, m.select(is_whole, sign, zero));
  auto result = m.from_bits(m.or_int(m.bits(of_size), m.bits(kept)));
  // Negative numbers have whole powers only, but infinity has all.
  const auto undefined =
      m.select(is_whole, zero, m.select(m.less(size, m.constant(Fmt::kInfinity)), x, zero));
  result = m.select(m.less(undefined, zero), m.constant(__builtin_nan("")), result);
  if constexpr (M::kBits == 64) result = m.select(m.equal(y, one), x, result);
  const auto square = m.mul(x, x);
  result = m.select(m.equal(y, m.constant(2)), square, result);
  result = m.select(m.equal(y, m.constant(3)), m.mul(square, x), result);
  return m.select(m.equal(y, zero), one, result);
}

}  // namespace scanloom::math
