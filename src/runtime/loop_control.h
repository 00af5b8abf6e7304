// LoopControl: decides whether a loop takes steps and how many, from its trip count, condition,
// slices and the step limit, for every execution strategy. It initializes LoopState before the
// first step, and counts stepped steps for later runs.
#pragma once

#include <cstdint>
#include <span>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/limits.h"
#include "runtime/loop_state.h"
#include "runtime/objects.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe. Errors name the loop.
class LoopControl {
 public:
  LoopControl(Values& values, Objects& objects, std::span<LoopState> loops)
      : values_(values), objects_(objects), loops_(loops) {}

  /// Reads the numbers of steps that earlier runs of the session stepped.
  void begin_counts();
  /// Adds the steps that this run stepped.
  void add_counts() const;

  /// Reads the trip count and the initial condition; returns whether any step runs. Errors:
  /// invalid_argument (too few slices), limit_reached.
  Expected<bool> enter(std::uint32_t loop, const Limits& limits);
  /// Checks that there are slices for all steps, where binding could not. If `steps` is unbounded,
  /// sets it to the number of slices, on which all scanned values must agree. Errors:
  /// invalid_argument.
  Expected<void> check_slices(const plan::BoundLoop& loop, std::int64_t& steps);
  /// Checks that the sizes of a carried value have not changed. Errors: invalid_argument.
  Expected<void> check_sizes(const plan::SizeCheck& check);
  /// Returns limit_reached if a loop that has taken all its permitted steps is limited by the step
  /// limit.
  [[nodiscard]] Expected<void> check_limit(std::uint32_t loop) const;

 private:
  Values& values_;
  Objects& objects_;
  std::span<LoopState> loops_;
};

}  // namespace scanloom::runtime
