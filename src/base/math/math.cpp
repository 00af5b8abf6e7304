#include "base/math/math.h"

#include "base/cpu.h"
#include "base/math/erf.h"
#include "base/math/exp.h"
#include "base/math/hyperbolic.h"
#include "base/math/inverse_trig.h"
#include "base/math/log.h"
#include "base/math/pow.h"
#include "base/math/scalar_domain.h"
#include "base/math/sigmoid.h"
#include "base/math/trig.h"
#include "base/with_fma.h"

namespace scanloom::math {

#define SCANLOOM_MATH_FUNCTION(name)                                        \
  template <class T>                                                        \
  SCANLOOM_WITH_FMA static T fused_##name(T x) {                            \
    return name(ScalarDomain<T, true>{}, x);                                \
  }                                                                         \
  template <std::floating_point T>                                          \
  T name(T x) {                                                             \
    return has_fma() ? fused_##name(x) : name(ScalarDomain<T, false>{}, x); \
  }                                                                         \
  template float name(float);                                               \
  template double name(double);
#include "base/math/functions.inc"
#undef SCANLOOM_MATH_FUNCTION

template <class T>
SCANLOOM_WITH_FMA static T fused_pow(T x, T y) {
  return pow(ScalarDomain<T, true>{}, x, y);
}
float pow(float x, float y) {
  return has_fma() ? fused_pow(x, y) : pow(ScalarDomain<float, false>{}, x, y);
}
double pow(double x, double y) {
  return has_fma() ? fused_pow(x, y) : pow(ScalarDomain<double, false>{}, x, y);
}

}  // namespace scanloom::math
