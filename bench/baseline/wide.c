/* Loops whose state is a row or a matrix: affine recurrence, selective scan. */
#include <math.h>
#include <stdint.h>

/* The state of a step is the row that the step before has written; h is the one of the first. */
void scanloom_affine_rows(int64_t steps, int64_t width, const float* h, const float* restrict a,
                          const float* restrict b, float* y) {
  const float* before = h;
  for (int64_t step = 0; step < steps; ++step) {
    const float* row_a = a + step * width;
    const float* row_b = b + step * width;
    float* restrict row = y + step * width;
    for (int64_t i = 0; i < width; ++i) row[i] = row_a[i] * before[i] + row_b[i];
    before = row;
  }
}

/* h[d][n] = exp(delta[d] rate[d][n]) h[d][n] + delta[d] u[d] in[n]; y[d] = sum of h[d][n] out[n]
   + skip[d] u[d]. h starts at zero. */
void scanloom_selective_scan(int64_t steps, int64_t width, int64_t states, const float* rate,
                             const float* skip, const float* u, const float* delta, const float* in,
                             const float* out, float* restrict h, float* restrict y) {
  for (int64_t i = 0; i < width * states; ++i) h[i] = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const float* row_in = in + step * states;
    const float* row_out = out + step * states;
    for (int64_t d = 0; d < width; ++d) {
      const float time = delta[step * width + d], fed = u[step * width + d];
      float sum = 0;
      for (int64_t n = 0; n < states; ++n) {
        const int64_t i = d * states + n;
        h[i] = expf(time * rate[i]) * h[i] + time * fed * row_in[n];
        sum += h[i] * row_out[n];
      }
      y[step * width + d] = sum + skip[d] * fed;
    }
  }
}
