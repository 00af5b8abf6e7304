// The measurements of a loop by the runs of a session, and the roofline of the machine.
#pragma once

#include <cstdint>
#include <functional>

namespace scanloom::report {

struct LoopMeasured {
  std::int64_t last_steps = -1;  ///< of the last execution; -1: none, or the loop is inside another
  std::int64_t steps = 0;
  double seconds = 0;
  int threads = 1;
};

/// Returns the minimum time in seconds for these bytes and operations; none if the machine was not
/// measured.
using Roofline = std::function<double(double bytes, double operations)>;

}  // namespace scanloom::report
