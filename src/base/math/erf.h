// erf. f32: two polynomials, of x and, from 0.927734375 on, of the exponent in 1 - exp(p(|x|)); 2
// ulp. f64: the rational approximations of FreeBSD's s_erf.c on its four intervals; 2 ulp.
// Inlined, so that loops over vectors keep its constants in registers.
#pragma once

#include "base/math/exp.h"

namespace scanloom::math {

template <MathDomain M>
  requires(M::kBits == 32)
[[gnu::always_inline]] inline typename M::F erf(const M& m, typename M::F x) {
  static constexpr double kNear[] = {1.28379166e-1,  -3.76125336e-1, 1.12819925e-1,
                                     -2.67681349e-2, 4.99119423e-3,  -5.96761703e-4};
  static constexpr double kFar[] = {-1.28717512e-1, -6.34846687e-1, -1.06777877e-1, 2.42546219e-2,
                                    -3.88396438e-3, 3.83197126e-4,  -1.72853470e-5};
  const auto size = m.abs(x);
  const auto near = m.mul_add(x, polynomial(m, m.mul(x, x), kNear), x);
  const auto bounded = at_most(m, size, 4);
  const auto square = m.mul(bounded, bounded);
  const auto exponent = m.sub(m.mul(bounded, paired_polynomial(m, bounded, square, kFar)), bounded);
  const auto far = copy_sign(m, m.sub(m.constant(1), exp_bounded(m, exponent)), x);
  // NaN, which is not less, propagates through `near`.
  return m.select(m.less(m.constant(0.927734375), size), far, near);
}

namespace erf64 {
inline constexpr double kP[] = {1.28379167095512558561e-01, -3.25042107247001499370e-01,
                                -2.84817495755985104766e-02, -5.77027029648944159157e-03,
                                -2.37630166566501626084e-05};
inline constexpr double kQ[] = {1,
                                3.97917223959155352819e-01,
                                6.50222499887672944485e-02,
                                5.08130628187576562776e-03,
                                1.32494738004321644526e-04,
                                -3.96022827877536812320e-06};
inline constexpr double kPa[] = {-2.36211856075265944077e-03, 4.14856118683748331666e-01,
                                 -3.72207876035701323847e-01, 3.18346619901161753674e-01,
                                 -1.10894694282396677476e-01, 3.54783043256182359371e-02,
                                 -2.16637559486879084300e-03};
inline constexpr double kQa[] = {1,
                                 1.06420880400844228286e-01,
                                 5.40397917702171048937e-01,
                                 7.18286544141962662868e-02,
                                 1.26171219808761642112e-01,
                                 1.36370839120290507362e-02,
                                 1.19844998467991074170e-02};
inline constexpr double kRa[] = {-9.86494403484714822705e-03, -6.93858572707181764372e-01,
                                 -1.05586262253232909814e+01, -6.23753324503260060396e+01,
                                 -1.62396669462573470355e+02, -1.84605092906711035994e+02,
                                 -8.12874355063065934246e+01, -9.81432934416914548592e+00};
inline constexpr double kSa[] = {1,
                                 1.96512716674392571292e+01,
                                 1.37657754143519042600e+02,
                                 4.34565877475229228821e+02,
                                 6.45387271733267880336e+02,
                                 4.29008140027567833386e+02,
                                 1.08635005541779435134e+02,
                                 6.57024977031928170135e+00,
                                 -6.04244152148580987438e-02};
inline constexpr double kRb[] = {-9.86494292470009928597e-03, -7.99283237680523006574e-01,
                                 -1.77579549177547519889e+01, -1.60636384855821916062e+02,
                                 -6.37566443368389627722e+02, -1.02509513161107724954e+03,
                                 -4.83519191608651397019e+02};
inline constexpr double kSb[] = {1,
                                 3.03380607434824582924e+01,
                                 3.25792512996573918826e+02,
                                 1.53672958608443695994e+03,
                                 3.19985821950859553908e+03,
                                 2.55305040643316442583e+03,
                                 4.74528541206955367215e+02,
                                 -2.24409524465858183362e+01};
}  // namespace erf64

template <MathDomain M>
  requires(M::kBits == 64)
typename M::F erf(const M& m, typename M::F x) {
  using namespace erf64;
  const auto size = m.abs(x);
  const auto square = m.mul(x, x);
  const auto near = m.mul_add(x, m.div(polynomial(m, square, kP), polynomial(m, square, kQ)), x);
  const auto one = m.constant(1);
  const auto s = m.sub(size, one);
  const auto middle = m.add(m.constant(8.45062911510467529297e-01),
                            m.div(polynomial(m, s, kPa), polynomial(m, s, kQa)));
  const auto bounded = at_most(m, at_least(m, size, 1), 6);
  const auto inverse = m.div(one, m.mul(bounded, bounded));
  const auto early = m.div(polynomial(m, inverse, kRa), polynomial(m, inverse, kSa));
  const auto late = m.div(polynomial(m, inverse, kRb), polynomial(m, inverse, kSb));
  const auto ratio = m.select(m.less(bounded, m.constant(1 / 0.35)), early, late);
  // exp(-x^2) in two factors; the first exponent is exact because z has half the bits.
  const auto z = m.from_bits(m.and_int(m.bits(bounded), m.integer(-(std::int64_t{1} << 32))));
  const auto first = exp_bounded(m, m.mul_add(m.neg(z), z, m.constant(-0.5625)));
  const auto second = exp_bounded(m, m.mul_add(m.sub(z, bounded), m.add(z, bounded), ratio));
  const auto far = m.sub(one, m.div(m.mul(first, second), bounded));
  auto result = m.select(m.less(size, m.constant(1.25)), middle, far);
  result = m.select(m.less(size, m.constant(0.84375)), near, copy_sign(m, result, x));
  return m.select(m.is_nan(x), x, result);
}

}  // namespace scanloom::math
