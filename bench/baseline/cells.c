/* Recurrent cells. Weights are [input][gate], so that the products run along rows of weights;
   x is [steps][batch][width], the states start at zero, gates is room for one row of gates. */
#include <math.h>
#include <stdint.h>

static float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

static void add_product(int64_t inputs, int64_t outputs, const float* restrict x,
                        const float* restrict weights, float* restrict sums) {
  for (int64_t k = 0; k < inputs; ++k)
    for (int64_t j = 0; j < outputs; ++j) sums[j] += x[k] * weights[k * outputs + j];
}

static void fill(int64_t count, const float* restrict from, float* restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

static void clear(int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = 0;
}

/* Gates in the order input, output, forget, cell. */
void scanloom_lstm(int64_t steps, int64_t batch, int64_t width, const float* w, const float* r,
                   const float* bias, const float* x, float* h, float* c, float* gates, float* y) {
  clear(batch * width, h);
  clear(batch * width, c);
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t at = (step * batch + row) * width;
      float* restrict row_h = h + row * width;
      float* restrict row_c = c + row * width;
      fill(4 * width, bias, gates);
      add_product(width, 4 * width, x + at, w, gates);
      add_product(width, 4 * width, row_h, r, gates);
      for (int64_t i = 0; i < width; ++i) {
        const float in = sigmoid(gates[i]), out = sigmoid(gates[width + i]);
        const float forget = sigmoid(gates[2 * width + i]), cell = tanhf(gates[3 * width + i]);
        row_c[i] = forget * row_c[i] + in * cell;
        row_h[i] = out * tanhf(row_c[i]);
        y[at + i] = row_h[i];
      }
    }
}

/* Gates in the order update, reset, candidate; the candidate's product is reset as a whole. */
void scanloom_gru(int64_t steps, int64_t batch, int64_t width, const float* w, const float* r,
                  const float* w_bias, const float* r_bias, const float* x, float* h, float* gates,
                  float* y) {
  float* inner = gates + 3 * width;
  clear(batch * width, h);
  for (int64_t step = 0; step < steps; ++step)
    for (int64_t row = 0; row < batch; ++row) {
      const int64_t at = (step * batch + row) * width;
      float* restrict row_h = h + row * width;
      fill(3 * width, w_bias, gates);
      fill(3 * width, r_bias, inner);
      add_product(width, 3 * width, x + at, w, gates);
      add_product(width, 3 * width, row_h, r, inner);
      for (int64_t i = 0; i < width; ++i) {
        const float update = sigmoid(gates[i] + inner[i]);
        const float reset = sigmoid(gates[width + i] + inner[width + i]);
        const float now = tanhf(gates[2 * width + i] + reset * inner[2 * width + i]);
        row_h[i] = (1 - update) * now + update * row_h[i];
        y[at + i] = row_h[i];
      }
    }
}
