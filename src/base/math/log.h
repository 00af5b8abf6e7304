// log(x) = k ln 2 + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2); log(1 + f) = f - f^2/2 + s (f^2/2 +
// R(s)), s = f / (2 + f) (the method and coefficients of FreeBSD's e_log.c and e_logf.c). 1 ulp.
#pragma once

#include "base/math/domain.h"

namespace scanloom::math {

template <int kBits>
struct LogFormat;

template <>
struct LogFormat<32> {
  static constexpr double kLn2High = 6.9313812256e-01, kLn2Low = 9.0580006145e-06;
  static constexpr double kDenormalScale = 0x1p25, kDenormalExponent = 25;
  static constexpr std::int64_t kSqrtHalfBits = 0x3f3504f3;
  static constexpr double kCoefficients[] = {0xaaaaaap-24, 0xccce13p-25, 0x91e9eep-25,
                                             0xf89e26p-26};
};

template <>
struct LogFormat<64> {
  static constexpr double kLn2High = 6.93147180369123816490e-01;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kDenormalScale = 0x1p54, kDenormalExponent = 54;
  static constexpr std::int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
  static constexpr double kCoefficients[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                             2.857142874366239149e-01, 2.222219843214978396e-01,
                                             1.818357216161805012e-01, 1.531383769920937332e-01,
                                             1.479819860511658591e-01};
};

template <MathDomain M>
typename M::F log(const M& m, typename M::F x) {
  using Log = LogFormat<M::kBits>;
  using Fmt = Format<M::kBits>;
  const auto zero = m.constant(0);
  const auto tiny = m.less(x, m.constant(Fmt::kSmallestNormal));
  const auto normal = m.select(tiny, m.mul(x, m.constant(Log::kDenormalScale)), x);
  // The exponent is taken relative to sqrt(1/2), so that 1 + f is around 1.
  const auto offset = m.sub_int(m.bits(normal), m.integer(Log::kSqrtHalfBits));
  const auto exponent = m.shift_right(offset, Fmt::kMantissaBits);
  const auto mantissa = m.from_bits(
      m.add_int(m.and_int(offset, m.integer(Fmt::kMantissaMask)), m.integer(Log::kSqrtHalfBits)));
  auto k = m.to_float(exponent);
  k = m.sub(k, m.select(tiny, m.constant(Log::kDenormalExponent), zero));

  const auto f = m.sub(mantissa, m.constant(1));
  const auto s = m.div(f, m.add(m.constant(2), f));
  const auto z = m.mul(s, s);
  const auto half_square = m.mul(m.mul(m.constant(0.5), f), f);
  const auto rest = m.mul_add(z, polynomial(m, z, Log::kCoefficients), half_square);
  const auto low = m.mul_add(s, rest, m.mul(k, m.constant(Log::kLn2Low)));
  auto result = m.mul_add(k, m.constant(Log::kLn2High), m.sub(f, m.sub(half_square, low)));

  const auto infinity = m.constant(Fmt::kInfinity);
  result = m.select(m.equal(x, infinity), infinity, result);
  result = m.select(m.equal(x, zero), m.neg(infinity), result);
  result = m.select(m.less(x, zero), m.constant(__builtin_nan("")), result);
  return m.select(m.is_nan(x), x, result);
}

/// log(1 + e) for -1 < e < infinity: log(u), corrected for the rounding of u = 1 + e.
template <MathDomain M>
typename M::F log1p_positive(const M& m, typename M::F e) {
  const auto one = m.constant(1);
  const auto u = m.add(one, e);
  const auto lost = m.sub(e, m.sub(u, one));
  return m.add(log(m, u), m.div(lost, u));
}

/// log(1 + x), NaN below -1: 2 ulp.
template <MathDomain M>
typename M::F log1p(const M& m, typename M::F x) {
  const auto infinity = m.constant(Format<M::kBits>::kInfinity), zero = m.constant(0);
  // 1 + x is 0 or infinite at the ends, where the correction is NaN; 0 keeps its sign.
  auto result = log1p_positive(m, x);
  result = m.select(m.equal(x, m.constant(-1)), m.neg(infinity), result);
  return m.select(m.either(m.equal(x, zero), m.equal(x, infinity)), x, result);
}

}  // namespace scanloom::math
