/* Gibbs sweeps of a restricted Boltzmann machine, see workloads/rbm.py. */
#include <math.h>
#include <stdint.h>
#include <string.h>

static float chance(float inner) { return 1 / (1 + expf(-inner)); }

/* w is [visible][hidden], uniform numbers are [step][row][unit]. */
void scanloom_gibbs(int64_t steps, int64_t rows, int64_t visible_units, int64_t hidden_units,
                    const float* start, const float* w, const float* hidden_bias,
                    const float* visible_bias, const float* u_hidden, const float* u_visible,
                    float* hidden, float* visible, float* shares) {
  memcpy(visible, start, (size_t)(rows * visible_units) * sizeof(float));
  for (int64_t step = 0; step < steps; ++step) {
    int64_t on = 0;
    for (int64_t row = 0; row < rows; ++row, u_hidden += hidden_units, u_visible += visible_units) {
      float* h = hidden + row * hidden_units;
      float* v = visible + row * visible_units;
      memcpy(h, hidden_bias, (size_t)hidden_units * sizeof(float));
      for (int64_t i = 0; i < visible_units; ++i)
        for (int64_t j = 0; j < hidden_units; ++j) h[j] += v[i] * w[i * hidden_units + j];
      for (int64_t j = 0; j < hidden_units; ++j) h[j] = u_hidden[j] < chance(h[j]);
      for (int64_t i = 0; i < visible_units; ++i) {
        float inner = visible_bias[i];
        for (int64_t j = 0; j < hidden_units; ++j) inner += h[j] * w[i * hidden_units + j];
        v[i] = u_visible[i] < chance(inner);
        on += v[i] > 0;
      }
    }
    shares[step] = (float)on / (float)(rows * visible_units);
  }
}
