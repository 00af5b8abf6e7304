// sin and cos of angles too far from 0 for the reduction of trig.h: x mod 2 pi from as many bits of
// 2 / pi as the exponent requires (Payne and Hanek, Radian reduction for trigonometric functions,
// 1983). About 20 ns each; vectors call them lane by lane. Compiled for the baseline only, so that
// code for other instruction sets may include this.
#pragma once

namespace scanloom::math {

/// NaN if x is infinite. Precondition: |x| >= 1.
float far_sin(float x);
double far_sin(double x);
float far_cos(float x);
double far_cos(double x);

}  // namespace scanloom::math
