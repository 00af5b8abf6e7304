/* Equations on grids. */
#include <stdint.h>
#include <string.h>

/* Thomas' elimination for interleaved systems; the diagonals, factors and x are [rows][systems].
 */
void scanloom_thomas(int64_t rows, int64_t systems, const double* lower, const double* main,
                     const double* upper, const double* right, double* restrict factors,
                     double* restrict x) {
  for (int64_t i = 0; i < systems; ++i) {
    factors[i] = upper[i] / main[i];
    x[i] = right[i] / main[i];
  }
  for (int64_t row = 1; row < rows; ++row) {
    const int64_t at = row * systems, before = at - systems;
    for (int64_t i = 0; i < systems; ++i) {
      const double pivot = main[at + i] - lower[at + i] * factors[before + i];
      factors[at + i] = upper[at + i] / pivot;
      x[at + i] = (right[at + i] - lower[at + i] * x[before + i]) / pivot;
    }
  }
  for (int64_t row = rows - 2; row >= 0; --row) {
    const int64_t at = row * systems, below = at + systems;
    for (int64_t i = 0; i < systems; ++i) x[at + i] -= factors[at + i] * x[below + i];
  }
}

/* The cells of a square beyond its edge are those at its edge; the corners are never read. */
static void pad(int64_t side, float* padded) {
  const int64_t width = side + 2;
  memcpy(padded, padded + width, sizeof(float) * (size_t)width);
  memcpy(padded + (side + 1) * width, padded + side * width, sizeof(float) * (size_t)width);
  for (int64_t row = 1; row <= side; ++row) {
    padded[row * width] = padded[row * width + 1];
    padded[row * width + side + 1] = padded[row * width + side];
  }
}

/* Explicit steps of the heat equation; both buffers are [side + 2][side + 2]. */
void scanloom_heat(int64_t steps, int64_t side, double rate, const float* start, float* before,
                   float* after, float* result) {
  const int64_t width = side + 2;
  const float share = (float)rate;
  for (int64_t row = 0; row < side; ++row)
    memcpy(before + (row + 1) * width + 1, start + row * side, sizeof(float) * (size_t)side);
  for (int64_t step = 0; step < steps; ++step) {
    pad(side, before);
    for (int64_t row = 1; row <= side; ++row) {
      const float* here = before + row * width;
      float* restrict to = after + row * width;
      for (int64_t i = 1; i <= side; ++i)
        to[i] = here[i] + share * (here[i - width] + here[i + width] + here[i - 1] + here[i + 1] -
                                   4 * here[i]);
    }
    float* swapped = before;
    before = after;
    after = swapped;
  }
  for (int64_t row = 0; row < side; ++row)
    memcpy(result + row * side, before + (row + 1) * width + 1, sizeof(float) * (size_t)side);
}
