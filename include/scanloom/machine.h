// What the machine does at best, measured once: `explain` compares loops with it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <scanloom/api.h>
#include <scanloom/expected.h>

namespace scanloom {

/// Of one core.
struct MachineFigures {
  /// Values that lie in up to that many bytes are read so fast.
  struct Level {
    std::int64_t bytes = 0;
    double bytes_per_second = 0;
  };

  std::string cpu;                   ///< its name, as the system gives it
  std::string isa;                   ///< that it was measured with
  double operations_per_second = 0;  ///< of f32, multiplications and additions counted one by one
  std::vector<Level> levels;         ///< ascending
};

/// Measures for about a second, best on an idle machine, and keeps the figures for later processes
/// in the file scanloom/machine.txt of $XDG_CACHE_HOME or ~/.cache, or in $SCANLOOM_MACHINE.
/// Errors: not_found (no such folder can be made or written to), out_of_memory.
SCANLOOM_API Expected<MachineFigures> calibrate();

}  // namespace scanloom
