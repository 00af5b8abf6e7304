/* Kalman filter of four states and two measurements, matrices row by row. */
#include <stdint.h>

enum { kStates = 4, kSeen = 2 };

/* to[rows][columns] = a[rows][inner] b, where b is [inner][columns], or transposed. */
static inline void product(int rows, int inner, int columns, const double* a, const double* b,
                           int transposed, double* to) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      double sum = 0;
      for (int k = 0; k < inner; ++k)
        sum += a[i * inner + k] * (transposed ? b[j * inner + k] : b[k * columns + j]);
      to[i * columns + j] = sum;
    }
}

static inline void invert_2x2(const double* m, double* to) {
  const double scale = 1 / (m[0] * m[3] - m[1] * m[2]);
  to[0] = m[3] * scale;
  to[1] = -m[1] * scale;
  to[2] = -m[2] * scale;
  to[3] = m[0] * scale;
}

/* means is [steps][4]; x and p hold the state: mean and covariance. */
void scanloom_kalman(int64_t steps, const double* f, const double* h, const double* q,
                     const double* r, const double* x_start, const double* p_start,
                     const double* seen, double* p_result, double* means) {
  double x[kStates], p[kStates * kStates];
  for (int i = 0; i < kStates; ++i) x[i] = x_start[i];
  for (int i = 0; i < kStates * kStates; ++i) p[i] = p_start[i];
  for (int64_t step = 0; step < steps; ++step) {
    double predicted[kStates], fp[kStates * kStates], ahead[kStates * kStates];
    product(kStates, kStates, 1, f, x, 0, predicted);
    product(kStates, kStates, kStates, f, p, 0, fp);
    product(kStates, kStates, kStates, fp, f, 1, ahead);
    for (int i = 0; i < kStates * kStates; ++i) ahead[i] += q[i];
    double cross[kStates * kSeen], spread[kSeen * kSeen], inverse[kSeen * kSeen];
    product(kStates, kStates, kSeen, ahead, h, 1, cross);
    product(kSeen, kStates, kSeen, h, cross, 0, spread);
    for (int i = 0; i < kSeen * kSeen; ++i) spread[i] += r[i];
    invert_2x2(spread, inverse);
    double gain[kStates * kSeen], expected[kSeen], error[kSeen], change[kStates];
    product(kStates, kSeen, kSeen, cross, inverse, 0, gain);
    product(kSeen, kStates, 1, h, predicted, 0, expected);
    for (int i = 0; i < kSeen; ++i) error[i] = seen[step * kSeen + i] - expected[i];
    product(kStates, kSeen, 1, gain, error, 0, change);
    double known[kStates * kStates];
    product(kStates, kSeen, kStates, gain, cross, 1, known);
    for (int i = 0; i < kStates * kStates; ++i) p[i] = ahead[i] - known[i];
    for (int i = 0; i < kStates; ++i) means[step * kStates + i] = x[i] = predicted[i] + change[i];
  }
  for (int i = 0; i < kStates * kStates; ++i) p_result[i] = p[i];
}
