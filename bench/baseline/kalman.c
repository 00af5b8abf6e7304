/* Kalman filter and smoother of four states and two measurements, matrices row by row. */
#include <math.h>
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

/* One step of the filter: x and p, mean and covariance, given what is seen. Where it is not inlined
   x and p live in memory, and a step takes half as long again. */
__attribute__((always_inline)) static inline void filter(const double* f, const double* h,
                                                         const double* q, const double* r,
                                                         const double* seen, double* x, double* p) {
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
  for (int i = 0; i < kSeen; ++i) error[i] = seen[i] - expected[i];
  product(kStates, kSeen, 1, gain, error, 0, change);
  double known[kStates * kStates];
  product(kStates, kSeen, kStates, gain, cross, 1, known);
  for (int i = 0; i < kStates * kStates; ++i) p[i] = ahead[i] - known[i];
  for (int i = 0; i < kStates; ++i) x[i] = predicted[i] + change[i];
}

/* means is [steps][4]. */
void scanloom_kalman(int64_t steps, const double* f, const double* h, const double* q,
                     const double* r, const double* x_start, const double* p_start,
                     const double* seen, double* p_result, double* means) {
  double x[kStates], p[kStates * kStates];
  for (int i = 0; i < kStates; ++i) x[i] = x_start[i];
  for (int i = 0; i < kStates * kStates; ++i) p[i] = p_start[i];
  for (int64_t step = 0; step < steps; ++step) {
    filter(f, h, q, r, seen + step * kSeen, x, p);
    for (int i = 0; i < kStates; ++i) means[step * kStates + i] = x[i];
  }
  for (int i = 0; i < kStates * kStates; ++i) p_result[i] = p[i];
}

/* Of a symmetric, positive definite matrix; solves for four right sides, the columns of b. */
static inline void solve_4x4(const double* m, double* b) {
  double factor[kStates][kStates];
  for (int row = 0; row < kStates; ++row)
    for (int column = 0; column <= row; ++column) {
      double sum = m[row * kStates + column];
      for (int k = 0; k < column; ++k) sum -= factor[row][k] * factor[column][k];
      factor[row][column] = row == column ? 1 / sqrt(sum) : sum * factor[column][column];
    }
  for (int row = 0; row < kStates; ++row)
    for (int i = 0; i < kStates; ++i) {
      for (int k = 0; k < row; ++k) b[row * kStates + i] -= factor[row][k] * b[k * kStates + i];
      b[row * kStates + i] *= factor[row][row];
    }
  for (int row = kStates - 1; row >= 0; --row)
    for (int i = 0; i < kStates; ++i) {
      for (int k = row + 1; k < kStates; ++k)
        b[row * kStates + i] -= factor[k][row] * b[k * kStates + i];
      b[row * kStates + i] *= factor[row][row];
    }
}

/* The smoother of Rauch, Tung and Striebel, run after the filter; covariances is [steps][4][4]. */
void scanloom_kalman_smoother(int64_t steps, const double* f, const double* h, const double* q,
                              const double* r, const double* x_start, const double* p_start,
                              const double* seen, double* restrict covariances, double* p_result,
                              double* restrict means) {
  enum { kSquare = kStates * kStates };
  double x[kStates], p[kSquare];
  for (int i = 0; i < kStates; ++i) x[i] = x_start[i];
  for (int i = 0; i < kSquare; ++i) p[i] = p_start[i];
  for (int64_t step = 0; step < steps; ++step) {
    filter(f, h, q, r, seen + step * kSeen, x, p);
    for (int i = 0; i < kStates; ++i) means[step * kStates + i] = x[i];
    for (int i = 0; i < kSquare; ++i) covariances[step * kSquare + i] = p[i];
  }
  for (int64_t step = steps - 2; step >= 0; --step) {
    const double* before = covariances + step * kSquare;
    double predicted[kStates], fp[kSquare], ahead[kSquare], change[kStates], spread[kSquare];
    product(kStates, kStates, 1, f, means + step * kStates, 0, predicted);
    product(kStates, kStates, kStates, f, before, 0, fp);
    product(kStates, kStates, kStates, fp, f, 1, ahead);
    for (int i = 0; i < kSquare; ++i) ahead[i] += q[i], p[i] -= ahead[i];
    for (int i = 0; i < kStates; ++i) x[i] -= predicted[i];
    solve_4x4(ahead, fp); /* now the gain, transposed */
    double gain[kSquare], moved[kSquare];
    for (int i = 0; i < kSquare; ++i) gain[i] = fp[i % kStates * kStates + i / kStates];
    product(kStates, kStates, 1, gain, x, 0, change);
    product(kStates, kStates, kStates, gain, p, 0, moved);
    product(kStates, kStates, kStates, moved, gain, 1, spread);
    for (int i = 0; i < kSquare; ++i) p[i] = before[i] + spread[i];
    for (int i = 0; i < kStates; ++i)
      means[step * kStates + i] = x[i] = means[step * kStates + i] + change[i];
  }
  for (int i = 0; i < kSquare; ++i) p_result[i] = p[i];
}
