/* Hamiltonian Monte Carlo of a normal distribution of ten variables. */
#include <math.h>
#include <stdint.h>

enum { kSize = 10 };

static inline void product(const double* matrix, const double* x, double* restrict to) {
  for (int i = 0; i < kSize; ++i) {
    double sum = 0;
    for (int k = 0; k < kSize; ++k) sum += matrix[i * kSize + k] * x[k];
    to[i] = sum;
  }
}

static inline double energy(const double* q, const double* slope, const double* p) {
  double sum = 0;
  for (int i = 0; i < kSize; ++i) sum += q[i] * slope[i] + p[i] * p[i];
  return 0.5 * sum;
}

/* precision is [10][10]; momenta and rows are [draws][10]. */
void scanloom_hmc(int64_t draws, int64_t leaps, double time, const double* precision,
                  const double* start, const double* momenta, const double* uniform, double* rows) {
  double q[kSize], p[kSize], far[kSize], slope[kSize];
  for (int i = 0; i < kSize; ++i) q[i] = start[i];
  for (int64_t draw = 0; draw < draws; ++draw) {
    for (int i = 0; i < kSize; ++i) p[i] = momenta[draw * kSize + i], far[i] = q[i];
    product(precision, far, slope);
    const double before = energy(far, slope, p);
    for (int64_t leap = 0; leap < leaps; ++leap) {
      for (int i = 0; i < kSize; ++i) p[i] -= time / 2 * slope[i];
      for (int i = 0; i < kSize; ++i) far[i] += time * p[i];
      product(precision, far, slope);
      for (int i = 0; i < kSize; ++i) p[i] -= time / 2 * slope[i];
    }
    if (log(uniform[draw]) < before - energy(far, slope, p))
      for (int i = 0; i < kSize; ++i) q[i] = far[i];
    for (int i = 0; i < kSize; ++i) rows[draw * kSize + i] = q[i];
  }
}
