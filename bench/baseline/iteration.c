/* Loops without input per step: an ordinary differential equation, power iteration. */
#include <math.h>
#include <stdint.h>

enum { kVariables = 40, kMaxSize = 256 };

/* Lorenz 96: (x[i+1] - x[i-2]) x[i-1] - x[i] + force, indices around the circle. */
static void slope(const double* x, double force, double* restrict to) {
  double around[kVariables + 3];
  around[0] = x[kVariables - 2];
  around[1] = x[kVariables - 1];
  for (int i = 0; i < kVariables; ++i) around[i + 2] = x[i];
  around[kVariables + 2] = x[0];
  for (int i = 0; i < kVariables; ++i)
    to[i] = (around[i + 3] - around[i]) * around[i + 1] - around[i + 2] + force;
}

/* Runge-Kutta of order 4; rows is [steps][40]. */
void scanloom_lorenz(int64_t steps, double force, double time, const double* start, double* rows) {
  double x[kVariables], at[kVariables];
  double k1[kVariables], k2[kVariables], k3[kVariables], k4[kVariables];
  for (int i = 0; i < kVariables; ++i) x[i] = start[i];
  for (int64_t step = 0; step < steps; ++step) {
    slope(x, force, k1);
    for (int i = 0; i < kVariables; ++i) at[i] = x[i] + time / 2 * k1[i];
    slope(at, force, k2);
    for (int i = 0; i < kVariables; ++i) at[i] = x[i] + time / 2 * k2[i];
    slope(at, force, k3);
    for (int i = 0; i < kVariables; ++i) at[i] = x[i] + time * k3[i];
    slope(at, force, k4);
    for (int i = 0; i < kVariables; ++i) {
      x[i] += time / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
      rows[step * kVariables + i] = x[i];
    }
  }
}

/* Normalised product with a symmetric matrix, until it changes by less than the tolerance. */
void scanloom_power(int64_t most_steps, int64_t size, double tolerance, const float* matrix,
                    const float* start, float* restrict x) {
  float next[kMaxSize];
  for (int64_t i = 0; i < size; ++i) x[i] = start[i];
  for (int64_t step = 0; step < most_steps; ++step) {
    for (int64_t i = 0; i < size; ++i) next[i] = 0;
    for (int64_t k = 0; k < size; ++k)
      for (int64_t i = 0; i < size; ++i) next[i] += x[k] * matrix[k * size + i];
    float length = 0, change = 0;
    for (int64_t i = 0; i < size; ++i) length += next[i] * next[i];
    length = sqrtf(length);
    for (int64_t i = 0; i < size; ++i) {
      const float normal = next[i] / length;
      change += (normal - x[i]) * (normal - x[i]);
      x[i] = normal;
    }
    if (sqrtf(change) <= (float)tolerance) break;
  }
}
