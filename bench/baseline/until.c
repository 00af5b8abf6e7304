/* Loops whose end depends on what they compute. */
#include <math.h>
#include <stdint.h>

enum { kPair = 2, kStages = 7, kMaxPoints = 256 };

static const double kWeights[kStages - 1][kStages - 1] = {
    {1.0 / 5},
    {3.0 / 40, 9.0 / 40},
    {44.0 / 45, -56.0 / 15, 32.0 / 9},
    {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
    {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
    {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84},
};
static const double kError[kStages] = {
    71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40,
};

/* Van der Pol's oscillator. */
static inline void slope(double stiffness, const double* y, double* to) {
  to[0] = y[1];
  to[1] = stiffness * (1 - y[0] * y[0]) * y[1] - y[0];
}

/* Dormand and Prince's method with steps of chosen length. */
void scanloom_dopri(int64_t most_steps, double stiffness, double end, double first,
                    double precision, const double* start, double* y) {
  double time = 0, length = first;
  for (int i = 0; i < kPair; ++i) y[i] = start[i];
  for (int64_t step = 0; step < most_steps && time < end; ++step) {
    const double ahead = length < end - time ? length : end - time;
    double slopes[kStages][kPair], reached[kPair];
    slope(stiffness, y, slopes[0]);
    for (int stage = 0; stage + 1 < kStages; ++stage) {
      for (int i = 0; i < kPair; ++i) {
        double sum = 0;
        for (int from = 0; from <= stage; ++from) sum += kWeights[stage][from] * slopes[from][i];
        reached[i] = y[i] + ahead * sum;
      }
      slope(stiffness, reached, slopes[stage + 1]);
    }
    double error = 1e-300;
    for (int i = 0; i < kPair; ++i) {
      double sum = 0;
      for (int stage = 0; stage < kStages; ++stage) sum += kError[stage] * slopes[stage][i];
      error = fmax(error, fabs(ahead * sum));
    }
    if (error <= precision) {
      for (int i = 0; i < kPair; ++i) y[i] = reached[i];
      time += ahead;
    }
    length = ahead * fmin(fmax(0.9 * pow(precision / error, 0.2), 0.2), 5);
  }
}

/* to[i] = sum over k of matrix[k][i] x[k] */
static void product(int64_t size, const float* matrix, const float* x, float* restrict to) {
  for (int64_t i = 0; i < size; ++i) to[i] = 0;
  for (int64_t k = 0; k < size; ++k)
    for (int64_t i = 0; i < size; ++i) to[i] += matrix[k * size + i] * x[k];
}

/* Scales exp(-cost / blur), which `plan` holds meanwhile, to the sums there and here. */
void scanloom_sinkhorn(int64_t most_steps, int64_t size, double blur, double tolerance,
                       const float* cost, const float* there, const float* here,
                       float* restrict turned, float* restrict plan) {
  float u[kMaxPoints], v[kMaxPoints], sums[kMaxPoints];
  for (int64_t i = 0; i < size * size; ++i) plan[i] = expf(cost[i] * (float)(-1 / blur));
  for (int64_t i = 0; i < size; ++i)
    for (int64_t k = 0; k < size; ++k) turned[k * size + i] = plan[i * size + k];
  for (int64_t i = 0; i < size; ++i) u[i] = v[i] = 1;
  for (int64_t step = 0; step < most_steps; ++step) {
    float change = 0, largest = 0;
    product(size, turned, v, sums);
    for (int64_t i = 0; i < size; ++i) {
      const float after = there[i] / sums[i], difference = fabsf(after - u[i]);
      change = difference > change ? difference : change;
      largest = fabsf(after) > largest ? fabsf(after) : largest;
      u[i] = after;
    }
    product(size, plan, u, sums);
    for (int64_t i = 0; i < size; ++i) v[i] = here[i] / sums[i];
    if (!(change > (float)tolerance * largest)) break;
  }
  for (int64_t i = 0; i < size; ++i)
    for (int64_t k = 0; k < size; ++k) plan[i * size + k] *= u[i] * v[k];
}

/* Ranks that are handed on along links, until they change by little. */
void scanloom_pagerank(int64_t most_steps, int64_t pages, int64_t links, double followed,
                       double tolerance, const int64_t* sources, const int64_t* targets,
                       const float* shares, float* restrict got, float* restrict rank) {
  for (int64_t i = 0; i < pages; ++i) rank[i] = 1;
  for (int64_t step = 0; step < most_steps; ++step) {
    float change = 0;
    for (int64_t i = 0; i < pages; ++i) got[i] = 0;
    for (int64_t i = 0; i < links; ++i) got[targets[i]] += rank[sources[i]] * shares[i];
    for (int64_t i = 0; i < pages; ++i) {
      const float after = (float)followed * got[i] + (float)(1 - followed);
      change += fabsf(after - rank[i]);
      rank[i] = after;
    }
    if (!(change > (float)tolerance)) break;
  }
}
