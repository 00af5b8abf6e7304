/* What a program in C does instead of copying the whole at every step. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A list of rows, each with memory of its own, put together at the end. */
void scanloom_append_rows(int64_t steps, int64_t width, const float* x, float* y) {
  const size_t bytes = (size_t)width * sizeof(float);
  float** rows = NULL;
  int64_t room = 0;
  for (int64_t step = 0; step < steps; ++step) {
    if (step == room) {
      room = room == 0 ? 8 : 2 * room;
      rows = realloc(rows, (size_t)room * sizeof(float*));
    }
    rows[step] = malloc(bytes);
    memcpy(rows[step], x + step * width, bytes);
  }
  for (int64_t step = 0; step < steps; ++step) {
    memcpy(y + step * width, rows[step], bytes);
    free(rows[step]);
  }
  free(rows);
}

/* One array that doubles its room when it is full. */
void scanloom_grow_array(int64_t steps, int64_t width, const float* x, float* y) {
  const size_t bytes = (size_t)width * sizeof(float);
  char* all = NULL;
  int64_t room = 0;
  for (int64_t step = 0; step < steps; ++step) {
    if (step == room) {
      room = room == 0 ? 8 : 2 * room;
      all = realloc(all, (size_t)room * bytes);
    }
    memcpy(all + (size_t)step * bytes, x + step * width, bytes);
  }
  memcpy(y, all, (size_t)steps * bytes);
  free(all);
}
