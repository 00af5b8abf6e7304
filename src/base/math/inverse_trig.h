// atan: reduces x to [-7/16, 7/16] by the tangent of the difference to one of four angles, then a
// polynomial (method and coefficients of FreeBSD's s_atan.c and s_atanf.c): 1 ulp. asin and acos: a
// rational function R of x^2 up to 1/2, above it through sqrt((1 - |x|) / 2) (e_asin.c, e_asinf.c):
// 2.5 and 1.5 ulp.
#pragma once

#include "base/math/domain.h"

namespace scanloom::math {

template <int kBits>
struct InverseTrigFormat;

template <>
struct InverseTrigFormat<32> {
  /// atan of 1/2, 1, 3/2 and infinity, and their rounding errors.
  static constexpr double kAngleHigh[] = {4.6364760399e-01, 7.8539812565e-01, 9.8279368877e-01,
                                          1.5707962513e+00};
  static constexpr double kAngleLow[] = {5.0121582440e-09, 3.7748947079e-08, 3.4473217170e-08,
                                         7.5497894159e-08};
  static constexpr double kAtan[] = {3.3333328366e-01, -1.9999158382e-01, 1.4253635705e-01,
                                     -1.0648017377e-01, 6.1687607318e-02};
  static constexpr double kAsinAbove[] = {1.6666586697e-01, -4.2743422091e-02, -8.6563630030e-03};
  static constexpr double kAsinBelow[] = {1, -7.0662963390e-01};
};

template <>
struct InverseTrigFormat<64> {
  static constexpr double kAngleHigh[] = {4.63647609000806093515e-01, 7.85398163397448278999e-01,
                                          9.82793723247329054082e-01, 1.57079632679489655800e+00};
  static constexpr double kAngleLow[] = {2.26987774529616870924e-17, 3.06161699786838301793e-17,
                                         1.39033110312309984516e-17, 6.12323399573676603587e-17};
  static constexpr double kAtan[] = {
      3.33333333333329318027e-01,  -1.99999999998764832476e-01, 1.42857142725034663711e-01,
      -1.11111104054623557880e-01, 9.09088713343650656196e-02,  -7.69187620504482999495e-02,
      6.66107313738753120669e-02,  -5.83357013379057348645e-02, 4.97687799461593236017e-02,
      -3.65315727442169155270e-02, 1.62858201153657823623e-02};
  static constexpr double kAsinAbove[] = {1.66666666666666657415e-01, -3.25565818622400915405e-01,
                                          2.01212532134862925881e-01, -4.00555345006794114027e-02,
                                          7.91534994289814532176e-04, 3.47933107596021167570e-05};
  static constexpr double kAsinBelow[] = {1, -2.40339491173441421878e+00,
                                          2.02094576023350569471e+00, -6.88283971605453293030e-01,
                                          7.70381505559019352791e-02};
};

template <MathDomain M>
typename M::F atan(const M& m, typename M::F x) {
  using Angles = InverseTrigFormat<M::kBits>;
  const auto one = m.constant(1), zero = m.constant(0), size = m.abs(x);
  // |x| = tan(angle + atan(above / below)).
  auto above = size, below = one, high = zero, low = zero;
  const auto beyond = [&](double limit, int angle, typename M::F top, typename M::F bottom) {
    const auto is = m.less(m.constant(limit), size);
    above = m.select(is, top, above);
    below = m.select(is, bottom, below);
    high = m.select(is, m.constant(Angles::kAngleHigh[angle]), high);
    low = m.select(is, m.constant(Angles::kAngleLow[angle]), low);
  };
  const auto half_more = m.constant(1.5);
  beyond(0.4375, 0, m.sub(m.add(size, size), one), m.add(m.constant(2), size));
  beyond(0.6875, 1, m.sub(size, one), m.add(size, one));
  beyond(1.1875, 2, m.sub(size, half_more), m.mul_add(half_more, size, one));
  beyond(2.4375, 3, m.neg(one), size);
  const auto t = m.div(above, below);
  const auto z = m.mul(t, t);
  const auto curve = m.mul(t, m.mul(z, polynomial(m, z, Angles::kAtan)));
  const auto result = m.sub(high, m.sub(m.sub(curve, low), t));
  return m.select(m.is_nan(x), x, copy_sign(m, result, x));
}

/// (asin(t) - t) / t for z = t^2 <= 1/4.
template <MathDomain M>
typename M::F asin_rest(const M& m, typename M::F z) {
  using Angles = InverseTrigFormat<M::kBits>;
  return m.div(m.mul(z, polynomial(m, z, Angles::kAsinAbove)),
               polynomial(m, z, Angles::kAsinBelow));
}

/// asin(sqrt((1 - size) / 2)), half of the angle whose cosine is size; NaN above 1.
template <MathDomain M>
typename M::F half_acos(const M& m, typename M::F size) {
  const auto z = m.mul(m.constant(0.5), m.sub(m.constant(1), size));
  const auto s = m.sqrt(z);
  return m.mul_add(s, asin_rest(m, z), s);
}

template <MathDomain M>
typename M::F asin(const M& m, typename M::F x) {
  using Angles = InverseTrigFormat<M::kBits>;
  const auto size = m.abs(x);
  const auto half = half_acos(m, size);
  const auto far = m.sub(m.constant(Angles::kAngleHigh[3]),
                         m.sub(m.add(half, half), m.constant(Angles::kAngleLow[3])));
  const auto near = m.mul_add(size, asin_rest(m, m.mul(size, size)), size);
  const auto result = m.select(m.less(size, m.constant(0.5)), near, far);
  return m.select(m.is_nan(result), m.constant(__builtin_nan("")), copy_sign(m, result, x));
}

template <MathDomain M>
typename M::F acos(const M& m, typename M::F x) {
  using Angles = InverseTrigFormat<M::kBits>;
  const auto high = m.constant(Angles::kAngleHigh[3]), low = m.constant(Angles::kAngleLow[3]);
  const auto size = m.abs(x);
  const auto rest = m.mul(x, asin_rest(m, m.mul(x, x)));
  const auto near = m.sub(high, m.sub(x, m.sub(low, rest)));
  const auto half = half_acos(m, size);
  const auto left = m.sub(high, m.sub(half, low));
  const auto far = m.select(m.less(x, m.constant(0)), m.add(left, left), m.add(half, half));
  const auto result = m.select(m.less(size, m.constant(0.5)), near, far);
  return m.select(m.is_nan(result), m.constant(__builtin_nan("")), result);
}

}  // namespace scanloom::math
