// sin and cos: x = n pi/2 + r in three parts (Cody and Waite), then a polynomial on |r| <= pi/4.
// f32 (Cephes' coefficients): absolute error 1.2e-7 up to |x| = 8,192, 1e-6 up to 1e5. f64
// (FreeBSD's k_sin.c, k_cos.c): 2.4 ulp up to |x| = 1e6. Beyond, the reduction loses one bit per
// doubling of x; results stay within [-1, 1].
#pragma once

#include "base/math/domain.h"

namespace scanloom::math {

template <int kBits>
struct TrigFormat;

template <>
struct TrigFormat<32> {
  static constexpr double kHalfPi[] = {1.5703125, 4.837512969970703125e-4, 7.54978995489188216e-8};
  static constexpr double kSin[] = {-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4};
  static constexpr double kCos[] = {4.166664568298827e-2, -1.388731625493765e-3,
                                    2.443315711809948e-5};
};

template <>
struct TrigFormat<64> {
  static constexpr double kHalfPi[] = {1.57079632673412561417e+00, 6.07710050630396597660e-11,
                                       2.02226624879595063154e-21};
  static constexpr double kSin[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                    -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                    -2.50507602534068634195e-08, 1.58969099521155010221e-10};
  static constexpr double kCos[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                    2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                    2.08757232129817482790e-09, -1.13596475577881948265e-11};
};

/// sin(x + quarter_turns pi/2).
template <MathDomain M>
typename M::F sin_shifted(const M& m, typename M::F x, int quarter_turns) {
  using Trig = TrigFormat<M::kBits>;
  using Fmt = Format<M::kBits>;
  const auto rounder = m.constant(Fmt::kRounder);
  const auto shifted = m.add(m.mul(x, m.constant(0.63661977236758134308)), rounder);
  const auto n = m.sub(shifted, rounder);
  auto r = m.sub(x, m.mul(n, m.constant(Trig::kHalfPi[0])));
  r = m.sub(r, m.mul(n, m.constant(Trig::kHalfPi[1])));
  r = m.sub(r, m.mul(n, m.constant(Trig::kHalfPi[2])));
  // Where the reduction has failed (huge x), any angle will do.
  r = m.select(m.less(m.abs(r), m.constant(1)), r, m.constant(0));
  const auto z = m.mul(r, r);
  const auto sine = m.add(r, m.mul(m.mul(r, z), polynomial(m, z, Trig::kSin)));
  const auto cosine = m.add(m.sub(m.constant(1), m.mul(m.constant(0.5), z)),
                            m.mul(m.mul(z, z), polynomial(m, z, Trig::kCos)));
  // The low bits of `shifted` are n's.
  const auto turns = m.add_int(m.bits(shifted), m.integer(quarter_turns));
  const auto odd = m.equal(m.to_float(m.and_int(turns, m.integer(1))), m.constant(1));
  auto result = m.select(odd, cosine, sine);
  const auto flipped = m.equal(m.to_float(m.and_int(turns, m.integer(2))), m.constant(2));
  result = m.select(flipped, m.neg(result), result);
  result = at_least(m, at_most(m, result, 1), -1);
  const auto infinite = m.equal(m.abs(x), m.constant(Fmt::kInfinity));
  return m.select(m.either(infinite, m.is_nan(x)), m.constant(__builtin_nan("")), result);
}

template <MathDomain M>
typename M::F sin(const M& m, typename M::F x) {
  // Zero keeps its sign, which the reduction would lose.
  return m.select(m.equal(x, m.constant(0)), x, sin_shifted(m, x, 0));
}

template <MathDomain M>
typename M::F cos(const M& m, typename M::F x) {
  return sin_shifted(m, x, 1);
}

}  // namespace scanloom::math
