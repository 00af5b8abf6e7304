// The functions of base/math on plain numbers, for reference kernels: the same bits that vectors
// and machine code compute for active_isa() (base/cpu.h).
#pragma once

#include <concepts>

namespace scanloom::math {

#define SCANLOOM_MATH_FUNCTION(name) \
  template <std::floating_point T>   \
  T name(T x);                       \
  extern template float name(float); \
  extern template double name(double);
#include "base/math/functions.inc"
#undef SCANLOOM_MATH_FUNCTION

/// C's special cases.
float pow(float x, float y);
double pow(double x, double y);

}  // namespace scanloom::math
