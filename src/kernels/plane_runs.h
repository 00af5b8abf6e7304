// The elements of x that planes hold (padded_planes.h), as a list of runs: planes that are filled
// again for another channel keep their padding, so that only these are copied.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/padded_planes.h"

namespace scanloom::kernels {

/// Elements from + i * step of a channel, where they are adjacent in the planes.
struct PlaneRun {
  std::int64_t from = 0, to = 0, count = 0;
};

struct PlaneRuns {
  std::int64_t step = 1;
  std::vector<PlaneRun> runs;

  /// Copies the runs of a channel, whose padding is there.
  template <class T>
  void refill(const T* x, T* to) const {
    for (const PlaneRun& run : runs) {
      if (step == 1)
        copy(x + run.from, run.count, to + run.to);
      else
        for (std::int64_t i = 0; i < run.count; ++i) to[run.to + i] = x[run.from + i * step];
    }
  }

 private:
  /// Runs are short: whole quadruples, the last of which may overlap the one before.
  template <class T>
  static void copy(const T* from, std::int64_t count, T* to) {
    if (count < 4) {
      for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
      return;
    }
    for (std::int64_t i = 0; i + 4 < count; i += 4) std::memcpy(to + i, from + i, 4 * sizeof(T));
    std::memcpy(to + count - 4, from + count - 4, 4 * sizeof(T));
  }
};

/// The runs of a channel's planes for a band that begins at position 0.
PlaneRuns plane_runs(const PlaneGrid& grid);

}  // namespace scanloom::kernels
