/* The floor: what a plain sequential loop in C takes. bench/native.py compiles the files of this
   folder with -O3 -march=native and calls them through ctypes; buffers are the caller's and are
   reused. */
#include <stdint.h>

/* The barrier keeps the compiler from replacing the loop by start + steps * increment. */
int64_t scanloom_counter(int64_t steps, int64_t start, int64_t increment) {
  int64_t count = start;
  for (int64_t step = 0; step < steps; ++step) {
    count += increment;
    __asm__ volatile("" : "+r"(count));
  }
  return count;
}

int64_t scanloom_counter_rows(int64_t steps, int64_t start, int64_t increment, int64_t* rows) {
  int64_t count = start;
  for (int64_t step = 0; step < steps; ++step) {
    count += increment;
    rows[step] = count;
  }
  return count;
}

float scanloom_ema(int64_t steps, float start, float keep, float take, const float* x, float* y) {
  float mean = start;
  for (int64_t step = 0; step < steps; ++step) {
    mean = mean * keep + x[step] * take;
    y[step] = mean;
  }
  return mean;
}

/* The same from 0, with numbers as doubles. */
void scanloom_ema_rows(int64_t steps, double keep, double take, const float* x, float* y) {
  scanloom_ema(steps, 0, (float)keep, (float)take, x, y);
}

/* Direct form 1; coefficients b0 b1 b2 a1 a2; history x[-1] x[-2] y[-1] y[-2]. */
void scanloom_biquad(int64_t steps, const float* c, const float* history, const float* x,
                     float* y) {
  float x1 = history[0], x2 = history[1], y1 = history[2], y2 = history[3];
  for (int64_t step = 0; step < steps; ++step) {
    const float now = x[step];
    const float out = c[0] * now + c[1] * x1 + c[2] * x2 - c[3] * y1 - c[4] * y2;
    x2 = x1;
    x1 = now;
    y2 = y1;
    y1 = out;
    y[step] = out;
  }
}

/* Affine recurrence of one element. */
void scanloom_affine(int64_t steps, double start, const float* a, const float* b, float* y) {
  float h = (float)start;
  for (int64_t step = 0; step < steps; ++step) {
    h = a[step] * h + b[step];
    y[step] = h;
  }
}

void scanloom_cumsum(int64_t steps, double start, const float* x, float* y) {
  float sum = (float)start;
  for (int64_t step = 0; step < steps; ++step) {
    sum += x[step];
    y[step] = sum;
  }
}
