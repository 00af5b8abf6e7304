/* Hidden Markov models in the logarithm: move is [from][to], seen is [steps][state]. */
#include <math.h>
#include <stdint.h>

enum { kMaxStates = 256 };

/* alpha[to] = log(sum over from of exp(alpha[from] + move[from][to])) + seen[to]; every
   row is kept, the likelihood is that of all that is seen. */
void scanloom_hmm_forward(int64_t steps, int64_t states, const float* start, const float* move,
                          const float* seen, float* alphas, float* likelihood) {
  float largest[kMaxStates], sum[kMaxStates];
  const float* alpha = start;
  for (int64_t step = 0; step < steps; ++step) {
    for (int64_t to = 0; to < states; ++to) largest[to] = -INFINITY, sum[to] = 0;
    for (int64_t from = 0; from < states; ++from)
      for (int64_t to = 0; to < states; ++to) {
        const float here = alpha[from] + move[from * states + to];
        largest[to] = here > largest[to] ? here : largest[to];
      }
    for (int64_t from = 0; from < states; ++from)
      for (int64_t to = 0; to < states; ++to)
        sum[to] += expf(alpha[from] + move[from * states + to] - largest[to]);
    float* row = alphas + step * states;
    for (int64_t to = 0; to < states; ++to)
      row[to] = largest[to] + logf(sum[to]) + seen[step * states + to];
    alpha = row;
  }
  float peak = alpha[0], total = 0;
  for (int64_t to = 1; to < states; ++to) peak = alpha[to] > peak ? alpha[to] : peak;
  for (int64_t to = 0; to < states; ++to) total += expf(alpha[to] - peak);
  *likelihood = peak + logf(total);
}

/* The most probable path; back is [steps][states], the score is that of the path. */
void scanloom_viterbi(int64_t steps, int64_t states, const float* start, const float* move,
                      const float* seen, int32_t* restrict back, float* score, int64_t* path) {
  float delta[kMaxStates], best[kMaxStates];
  for (int64_t to = 0; to < states; ++to) delta[to] = start[to];
  for (int64_t step = 0; step < steps; ++step) {
    int32_t* restrict row = back + step * states;
    for (int64_t to = 0; to < states; ++to) best[to] = -INFINITY, row[to] = 0;
    for (int64_t from = 0; from < states; ++from)
      for (int64_t to = 0; to < states; ++to) {
        const float here = delta[from] + move[from * states + to];
        row[to] = here > best[to] ? (int32_t)from : row[to];
        best[to] = here > best[to] ? here : best[to];
      }
    for (int64_t to = 0; to < states; ++to) delta[to] = best[to] + seen[step * states + to];
  }
  int64_t state = 0;
  for (int64_t to = 1; to < states; ++to)
    if (delta[to] > delta[state]) state = to;
  *score = delta[state];
  for (int64_t step = steps - 1; step >= 0; --step) {
    path[step] = state;
    state = back[step * states + state];
  }
}
