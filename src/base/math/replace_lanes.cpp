#include "base/math/replace_lanes.h"

namespace scanloom::math {
namespace {

template <class T>
void replace(T* results, const T* x, std::int64_t count, T (*function)(T)) {
  for (std::int64_t i = 0; i < count; ++i)
    if (x[i] != 0) results[i] = function(x[i]);
}

}  // namespace

void replace_lanes(float* results, const float* x, std::int64_t count, float (*function)(float)) {
  replace(results, x, count, function);
}
void replace_lanes(double* results, const double* x, std::int64_t count,
                   double (*function)(double)) {
  replace(results, x, count, function);
}

}  // namespace scanloom::math
