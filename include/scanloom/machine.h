// Peak figures of the machine, measured once: `explain` compares loops with them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <scanloom/api.h>
#include <scanloom/expected.h>

namespace scanloom {

/// Figures of one core.
struct MachineFigures {
  /// Read speed for values that occupy up to this many bytes.
  struct Level {
    std::int64_t bytes = 0;
    double bytes_per_second = 0;
  };

  std::string cpu;                   ///< its name, as the system gives it
  std::string isa;                   ///< instruction set used to measure
  double operations_per_second = 0;  ///< f32 operations; a multiplication and an addition count as
                                     ///< two
  std::vector<Level> levels;         ///< ascending
  std::string why_not_saved = {};    ///< why only this process knows them; empty: they are saved
};

/// Measures for about a second, ideally on an idle machine, and saves the figures for later
/// processes in scanloom/machine.txt under $XDG_CACHE_HOME or ~/.cache, or in $SCANLOOM_MACHINE.
/// A home folder that does not exist is not created. This process uses the figures even if they
/// cannot be saved. Thread safe. Errors: out_of_memory.
SCANLOOM_API Expected<MachineFigures> calibrate();

}  // namespace scanloom
