/* GARCH(1,1) with normal errors: the log-likelihood of the returns. */
#include <math.h>
#include <stdint.h>

/* parameters: omega alpha beta, the variance of the first step; result: log-likelihood, variance.
 */
void scanloom_garch(int64_t steps, const double* parameters, const double* returns,
                    double* result) {
  const double omega = parameters[0], alpha = parameters[1], beta = parameters[2];
  double variance = parameters[3], sum = 0;
  for (int64_t step = 0; step < steps; ++step) {
    const double square = returns[step] * returns[step];
    sum -= 0.5 * (log(2 * 3.14159265358979323846 * variance) + square / variance);
    variance = omega + alpha * square + beta * variance;
  }
  result[0] = sum;
  result[1] = variance;
}
