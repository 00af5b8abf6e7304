// Slow path for a few lanes of a vector. Compiled for the baseline only, so that code for other
// instruction sets may include this.
#pragma once

#include <cstdint>

namespace scanloom::math {

/// results[i] = function(x[i]) for each i below `count` whose x[i] is not 0.
void replace_lanes(float* results, const float* x, std::int64_t count, float (*function)(float));
void replace_lanes(double* results, const double* x, std::int64_t count,
                   double (*function)(double));

}  // namespace scanloom::math
