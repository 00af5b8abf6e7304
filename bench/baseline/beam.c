/* Beam search by a small decoder with attention over all that it has written. */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum { kBeams = 4, kWidth = 32, kWords = 200, kMaxSteps = 1024 };

/* What the decoder has found in its cache, whose last row is the newest. */
static void attend(const float* cache, int64_t rows, float* restrict found) {
  const float* now = cache + (rows - 1) * kWidth;
  float weight[kMaxSteps], largest = -INFINITY, total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (int i = 0; i < kWidth; ++i) sum += cache[row * kWidth + i] * now[i];
    weight[row] = sum * (float)(1 / sqrt(kWidth));
    largest = weight[row] > largest ? weight[row] : largest;
  }
  for (int i = 0; i < kWidth; ++i) found[i] = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const float share = expf(weight[row] - largest);
    total += share;
    for (int i = 0; i < kWidth; ++i) found[i] += share * cache[row * kWidth + i];
  }
  for (int i = 0; i < kWidth; ++i) found[i] /= total;
}

/* Logarithms of the chances of every word. */
static void predict(const float* found, const float* now, const float* read, const float* kept,
                    const float* out, float* restrict chances) {
  float inner[kWidth], largest = -INFINITY, total = 0;
  for (int i = 0; i < kWidth; ++i) inner[i] = 0;
  for (int k = 0; k < kWidth; ++k)
    for (int i = 0; i < kWidth; ++i)
      inner[i] += found[k] * read[k * kWidth + i] + now[k] * kept[k * kWidth + i];
  for (int word = 0; word < kWords; ++word) chances[word] = 0;
  for (int k = 0; k < kWidth; ++k) {
    const float unit = tanhf(inner[k]);
    for (int word = 0; word < kWords; ++word) chances[word] += unit * out[k * kWords + word];
  }
  for (int word = 0; word < kWords; ++word)
    largest = chances[word] > largest ? chances[word] : largest;
  for (int word = 0; word < kWords; ++word) total += expf(chances[word] - largest);
  const float norm = largest + logf(total);
  for (int word = 0; word < kWords; ++word) chances[word] -= norm;
}

/* The places of the best totals, best first; of equals the first. */
static void choose(const float* totals, float* scores, int64_t* places) {
  for (int beam = 0; beam < kBeams; ++beam) scores[beam] = -INFINITY, places[beam] = 0;
  for (int64_t place = 0; place < kBeams * kWords; ++place) {
    if (!(totals[place] > scores[kBeams - 1])) continue;
    int at = kBeams - 1;
    for (; at > 0 && totals[place] > scores[at - 1]; --at) {
      scores[at] = scores[at - 1];
      places[at] = places[at - 1];
    }
    scores[at] = totals[place];
    places[at] = place;
  }
}

/* caches is [2][beam][steps][32], histories [2][beam][steps]: two of each, which take turns. */
void scanloom_beam(int64_t steps, const float* embedding, const float* read, const float* kept,
                   const float* out, const int64_t* first, float* caches, int64_t* histories,
                   float* scores, int64_t* written) {
  const int64_t length = steps * kWidth;
  float *cache = caches, *next_cache = caches + kBeams * length, totals[kBeams * kWords];
  int64_t *history = histories, *next_history = histories + kBeams * steps, words[kBeams];
  for (int beam = 0; beam < kBeams; ++beam) {
    words[beam] = first[beam];
    scores[beam] = beam == 0 ? 0 : -1e30f;
  }
  for (int64_t step = 0; step < steps; ++step) {
    for (int beam = 0; beam < kBeams; ++beam) {
      float found[kWidth], *rows = cache + beam * length, *here = totals + beam * kWords;
      const float* now = embedding + words[beam] * kWidth;
      memcpy(rows + step * kWidth, now, sizeof(float) * kWidth);
      attend(rows, step + 1, found);
      predict(found, now, read, kept, out, here);
      for (int word = 0; word < kWords; ++word) here[word] += scores[beam];
    }
    int64_t places[kBeams];
    choose(totals, scores, places);
    for (int beam = 0; beam < kBeams; ++beam) {
      const int64_t parent = places[beam] / kWords;
      words[beam] = places[beam] % kWords;
      memcpy(next_cache + beam * length, cache + parent * length,
             sizeof(float) * (size_t)((step + 1) * kWidth));
      memcpy(next_history + beam * steps, history + parent * steps, sizeof(int64_t) * (size_t)step);
      next_history[beam * steps + step] = words[beam];
    }
    float* const other_cache = cache;
    int64_t* const other_history = history;
    cache = next_cache, next_cache = other_cache;
    history = next_history, next_history = other_history;
  }
  memcpy(written, history, sizeof(int64_t) * (size_t)(kBeams * steps));
}
