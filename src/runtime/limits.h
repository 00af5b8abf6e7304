// Limits of one run and how they are watched: cheaply per step, exactly about every half
// millisecond.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "base/expected.h"

namespace scanloom::runtime {

inline constexpr std::int64_t kDefaultMaxSteps = 100'000'000;

struct Limits {
  double deadline_seconds = 0;      ///< 0: none
  std::int64_t max_steps = -1;      ///< -1: kDefaultMaxSteps where there is no trip count
  std::int64_t max_memory = 0;      ///< bytes; 0: three quarters of the machine's
  std::function<bool()> cancelled;  ///< asked from the running thread
  /// Loop's place in the flat list, steps done, steps in all (-1: not known).
  std::function<void(std::uint32_t loop, std::int64_t step, std::int64_t steps)> progress;
};

/// Three quarters of the memory of the machine.
std::int64_t default_max_memory();

/// Counts steps down to the next look at the clock, and adapts the count to the speed of the steps.
class Watch {
 public:
  explicit Watch(const Limits& limits)
      : limits_(limits), start_(Clock::now()), last_(start_), reported_(start_) {}

  /// Per step: whether it is time to look.
  bool due() { return --countdown_ <= 0; }
  /// How many steps a compiled loop may run before the next look.
  [[nodiscard]] std::int64_t chunk() const { return interval_; }
  /// Looks: cancellation, deadline, progress. Errors: cancelled, limit_reached.
  Expected<void> look(std::uint32_t loop, std::int64_t step, std::int64_t steps);

 private:
  using Clock = std::chrono::steady_clock;
  const Limits& limits_;
  Clock::time_point start_, last_, reported_;
  std::int64_t interval_ = 16;
  std::int64_t countdown_ = 16;
};

}  // namespace scanloom::runtime
