// The functions of base/math on plain numbers, for reference kernels: the same bits that vectors
// and machine code compute for active_isa() (base/cpu.h).
#pragma once

#include <cmath>
#include <concepts>

namespace scanloom::math {

#define SCANLOOM_MATH_FUNCTION(name) \
  template <std::floating_point T>   \
  T name(T x);                       \
  extern template float name(float); \
  extern template double name(double);
#include "base/math/functions.inc"
#undef SCANLOOM_MATH_FUNCTION

/// The C library's pow, below 1 ulp, with C's special cases; a square is x x, correctly rounded.
/// Vector kernels and machine code call these per lane. f32 goes through f64, which is correctly
/// rounded except in one case in millions.
inline double pow(double x, double y) { return y == 2 ? x * x : std::pow(x, y); }
inline float pow(float x, float y) {
  return static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
}

}  // namespace scanloom::math
