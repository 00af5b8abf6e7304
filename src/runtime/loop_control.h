// LoopControl: whether a loop takes steps, and how many: trip counts, conditions, slices and the
// step limit, whatever takes the steps. It sets what LoopState knows of an execution before its
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

  /// Reads what earlier runs of the session have stepped.
  void begin_counts();
  /// Adds what this run has stepped.
  void add_counts() const;

  /// Reads the trip count and the first condition; whether any step runs. Errors: invalid_argument
  /// (slices that do not suffice), limit_reached.
  Expected<bool> enter(std::uint32_t loop, const Limits& limits);
  /// Checks that there are slices for all steps, as far as binding could not tell. Endless steps
  /// become as many as there are slices, which must agree then. Errors: invalid_argument.
  Expected<void> check_slices(const plan::BoundLoop& loop, std::int64_t& steps);
  /// Checks that the sizes of a carried value have not changed. Errors: invalid_argument.
  Expected<void> check_sizes(const plan::SizeCheck& check);
  /// Returns the error of a loop that has taken all the steps it may take, if it is one:
  /// limit_reached.
  [[nodiscard]] Expected<void> check_limit(std::uint32_t loop) const;

 private:
  Values& values_;
  Objects& objects_;
  std::span<LoopState> loops_;
};

}  // namespace scanloom::runtime
