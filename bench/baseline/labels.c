/* Sums over all labellings in the logarithm; every row of the batch runs to its own length. */
#include <math.h>
#include <stdint.h>

enum { kBatch = 16, kClasses = 32, kPlaces = 41 };

static float log_sum_exp(const float* x, int count) {
  float largest = x[0], sum = 0;
  for (int i = 1; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  for (int i = 0; i < count; ++i) sum += expf(x[i] - largest);
  return largest + logf(sum);
}

/* The normaliser of a linear-chain CRF: start is [row][class], move is [from][to], emissions are
   [steps][row][class]. */
void scanloom_crf(int64_t steps, const float* start, const float* move, const float* emissions,
                  const int64_t* lengths, float* totals) {
  for (int row = 0; row < kBatch; ++row) {
    float alpha[kClasses], largest[kClasses], sum[kClasses];
    for (int to = 0; to < kClasses; ++to) alpha[to] = start[row * kClasses + to];
    for (int64_t step = 0; step < lengths[row] && step < steps; ++step) {
      const float* now = emissions + (step * kBatch + row) * kClasses;
      for (int to = 0; to < kClasses; ++to) largest[to] = -INFINITY, sum[to] = 0;
      for (int from = 0; from < kClasses; ++from)
        for (int to = 0; to < kClasses; ++to) {
          const float here = alpha[from] + move[from * kClasses + to];
          largest[to] = here > largest[to] ? here : largest[to];
        }
      for (int from = 0; from < kClasses; ++from)
        for (int to = 0; to < kClasses; ++to)
          sum[to] += expf(alpha[from] + move[from * kClasses + to] - largest[to]);
      for (int to = 0; to < kClasses; ++to) alpha[to] = largest[to] + logf(sum[to]) + now[to];
    }
    totals[row] = log_sum_exp(alpha, kClasses);
  }
}

/* The log-likelihood under CTC: logits are [steps][row][class]; places are the classes of labels
   with blanks around them; skip is 0 or very small, whether a place can follow the one before the
   one before; ends are the last two places of a row. */
void scanloom_ctc(int64_t steps, const float* logits, const int64_t* places, const float* skip,
                  const int64_t* lengths, const int64_t* ends, float* totals) {
  for (int row = 0; row < kBatch; ++row) {
    const int64_t* place = places + row * kPlaces;
    float before[kPlaces + 2]; /* two places more, which nothing reaches */
    for (int to = 0; to < kPlaces + 2; ++to) before[to] = -1e30f;
    before[2] = 0;
    for (int64_t step = 0; step < lengths[row] && step < steps; ++step) {
      const float* now = logits + (step * kBatch + row) * kClasses;
      const float norm = log_sum_exp(now, kClasses);
      float after[kPlaces];
      for (int to = 0; to < kPlaces; ++to) {
        const float stay = before[to + 2], next = before[to + 1];
        const float far = before[to] + skip[row * kPlaces + to];
        float largest = stay > next ? stay : next;
        largest = far > largest ? far : largest;
        const float sum = expf(stay - largest) + expf(next - largest) + expf(far - largest);
        after[to] = largest + logf(sum) + now[place[to]] - norm;
      }
      for (int to = 0; to < kPlaces; ++to) before[to + 2] = after[to];
    }
    const float last[2] = {before[ends[2 * row] + 2], before[ends[2 * row + 1] + 2]};
    totals[row] = log_sum_exp(last, 2);
  }
}
