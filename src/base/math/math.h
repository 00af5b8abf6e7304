// The functions of base/math on plain numbers, as reference kernels call them.
#pragma once

#include <cmath>

#include "base/math/erf.h"
#include "base/math/exp.h"
#include "base/math/hyperbolic.h"
#include "base/math/inverse_trig.h"
#include "base/math/log.h"
#include "base/math/scalar_domain.h"
#include "base/math/sigmoid.h"
#include "base/math/trig.h"

namespace scanloom::math {

template <std::floating_point T>
T exp(T x) {
  return exp(ScalarDomain<T>{}, x);
}
/// Of x <= 0, the same bits as exp; single numbers gain nothing from its shorter form (exp.h).
template <std::floating_point T>
T exp_nonpositive(T x) {
  return exp(x);
}
template <std::floating_point T>
T expm1(T x) {
  return expm1(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T log(T x) {
  return log(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T log1p(T x) {
  return log1p(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T tanh(T x) {
  return tanh(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T sigmoid(T x) {
  return sigmoid(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T softplus(T x) {
  return softplus(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T sin(T x) {
  return sin(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T cos(T x) {
  return cos(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T erf(T x) {
  return erf(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T asin(T x) {
  return asin(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T acos(T x) {
  return acos(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T atan(T x) {
  return atan(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T sinh(T x) {
  return sinh(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T cosh(T x) {
  return cosh(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T asinh(T x) {
  return asinh(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T acosh(T x) {
  return acosh(ScalarDomain<T>{}, x);
}
template <std::floating_point T>
T atanh(T x) {
  return atanh(ScalarDomain<T>{}, x);
}

/// The C library's, below 1 ulp, with C's special cases; a square is x x, rounded right. Vector
/// kernels and machine code call these per lane. f32 goes through f64, which rounds right but for
/// one case in millions.
inline double pow(double x, double y) { return y == 2 ? x * x : std::pow(x, y); }
inline float pow(float x, float y) {
  return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}

}  // namespace scanloom::math
