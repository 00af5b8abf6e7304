// sin and cos: x = n pi/2 + r - lost in four parts (f32) or three (f64) after Cody and Waite, then
// a polynomial on |r| <= pi/4 (f32: coefficients of Cephes; f64: of FreeBSD's k_sin.c, k_cos.c).
// Beyond kNear, far_angle.h takes over. 1 ulp everywhere.
#pragma once

#include <iterator>

#include "base/math/domain.h"
#include "base/math/far_angle.h"

namespace scanloom::math {

template <int kBits>
struct TrigFormat;

template <>
struct TrigFormat<32> {
  /// pi/2 in parts of 8, 11, 11 and 24 bits; all parts but the last have exact products with
  /// numbers up to 2^13.
  static constexpr double kHalfPi[] = {0x1.92p0, 0x1.fb4p-12, 0x1.444p-24, 0x1.68c234p-39};
  /// Below this, n is below 2^13.
  static constexpr double kNear = 12'800;
  static constexpr double kMinusSin[] = {1.6666654611e-1, -8.3321608736e-3, 1.9515295891e-4};
  static constexpr double kCos[] = {4.166664568298827e-2, -1.388731625493765e-3,
                                    2.443315711809948e-5};
};

template <>
struct TrigFormat<64> {
  /// pi/2 in parts of 33, 33 and 53 bits; all parts but the last have exact products with numbers
  /// up to 2^20.
  static constexpr double kHalfPi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};
  /// For every n up to this, the rounding of the last product is below 0.6 ulp of the smallest r.
  static constexpr double kNear = 0x1p17;
  static constexpr double kMinusSin[] = {1.66666666666666324348e-01, -8.33333333332248946124e-03,
                                         1.98412698298579493134e-04, -2.75573137070700676789e-06,
                                         2.50507602534068634195e-08, -1.58969099521155010221e-10};
  static constexpr double kCos[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                    2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                    2.08757232129817482790e-09, -1.13596475577881948265e-11};
};

/// sin(turns pi/2 + r - lost) for |r| <= pi/4, where `lost` is the rounding error of r.
template <MathDomain M>
typename M::F sin_reduced(const M& m, typename M::F r, typename M::F lost, typename M::I turns) {
  using Trig = TrigFormat<M::kBits>;
  using Fmt = Format<M::kBits>;
  const auto z = m.mul(r, r);
  const auto minus_half = m.constant(-0.5), one = m.constant(1);
  const auto near_cosine = m.mul_add(z, minus_half, one);
  // This order keeps -0.
  const auto sine_rest =
      m.mul_add(m.mul(r, z), polynomial(m, z, Trig::kMinusSin), m.mul(lost, near_cosine));
  const auto sine = m.sub(r, sine_rest);
  const auto cosine_rest = m.mul_add(m.mul(z, z), polynomial(m, z, Trig::kCos), m.mul(r, lost));
  const auto rounded = m.mul_add(z, minus_half, m.sub(one, near_cosine));
  const auto cosine = m.add(near_cosine, m.add(rounded, cosine_rest));
  // The lowest bit of `turns` as a sign, of 1; the next one as a sign to flip.
  const auto swaps =
      m.from_bits(m.or_int(m.shift_left(turns, M::kBits - 1), m.integer(Fmt::kOneBits)));
  const auto result = m.select(m.less(swaps, m.constant(0)), cosine, sine);
  const auto flips = m.shift_left(m.and_int(turns, m.integer(2)), M::kBits - 2);
  return m.from_bits(m.add_int(m.bits(result), flips));
}

/// sin(x + quarter_turns pi/2) up to kNear; NaN for NaN.
template <MathDomain M>
typename M::F near_sin_shifted(const M& m, typename M::F x, int quarter_turns) {
  using Trig = TrigFormat<M::kBits>;
  const auto rounder = m.constant(Format<M::kBits>::kRounder);
  const auto shifted = m.mul_add(x, m.constant(0.63661977236758134308), rounder);
  const auto n = m.sub(shifted, rounder);
  constexpr std::size_t kRounded = std::size(Trig::kHalfPi) - 2;
  // Exact: the difference has no bit below the last bit of both operands, nor above 1.
  auto exact = x;
  for (std::size_t i = 0; i < kRounded; ++i)
    exact = m.mul_add(n, m.constant(-Trig::kHalfPi[i]), exact);
  // This difference rounds, unless the product is the larger one: then it is exact as well.
  const auto product = m.mul(n, m.constant(Trig::kHalfPi[kRounded]));
  const auto r = m.sub(exact, product);
  const auto lost =
      m.mul_add(n, m.constant(Trig::kHalfPi[kRounded + 1]), m.sub(product, m.sub(exact, r)));
  // The low bits of `shifted` are n's.
  return sin_reduced(m, r, lost, m.add_int(m.bits(shifted), m.integer(quarter_turns)));
}

template <MathDomain M>
typename M::Mask is_far(const M& m, typename M::F x) {
  return m.less(m.constant(TrigFormat<M::kBits>::kNear), m.abs(x));
}

template <MathDomain M>
typename M::F sin(const M& m, typename M::F x) {
  return m.replace_rare(is_far(m, x), near_sin_shifted(m, x, 0), x, &far_sin);
}

template <MathDomain M>
typename M::F cos(const M& m, typename M::F x) {
  return m.replace_rare(is_far(m, x), near_sin_shifted(m, x, 1), x, &far_cos);
}

}  // namespace scanloom::math
