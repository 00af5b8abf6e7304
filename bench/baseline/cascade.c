/* A cascade of second-order sections over two channels, in transposed direct form 2. */
#include <stdint.h>

enum { kSections = 8, kChannels = 2 };

/* sections is [8][5]: b0 b1 b2 a1 a2; start is [2 * 8][2]: both delays of each section; x and y are
   [steps][2]. */
void scanloom_cascade(int64_t steps, const float* sections, const float* start, const float* x,
                      float* y) {
  float first[kSections][kChannels], second[kSections][kChannels];
  for (int section = 0; section < kSections; ++section)
    for (int channel = 0; channel < kChannels; ++channel) {
      first[section][channel] = start[2 * section * kChannels + channel];
      second[section][channel] = start[(2 * section + 1) * kChannels + channel];
    }
  for (int64_t step = 0; step < steps; ++step) {
    float through[kChannels];
    for (int channel = 0; channel < kChannels; ++channel)
      through[channel] = x[step * kChannels + channel];
    for (int section = 0; section < kSections; ++section) {
      const float* c = sections + 5 * section;
      for (int channel = 0; channel < kChannels; ++channel) {
        const float in = through[channel], out = c[0] * in + first[section][channel];
        first[section][channel] = c[1] * in - c[3] * out + second[section][channel];
        second[section][channel] = c[2] * in - c[4] * out;
        through[channel] = out;
      }
    }
    for (int channel = 0; channel < kChannels; ++channel)
      y[step * kChannels + channel] = through[channel];
  }
}
