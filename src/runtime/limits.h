// Limits of one run and how they are polled: at almost no cost per step, exactly a few times per
// millisecond, and after nodes that take long.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>

#include "base/expected.h"
#include "tensor/stop_token.h"

namespace scanloom::runtime {

struct Limits {
  double deadline_seconds = 0;  ///< from `start` on; 0: none
  /// When the run began, if that was before it was executed.
  std::optional<std::chrono::steady_clock::time_point> start = {};
  std::int64_t max_steps = -1;  ///< -1: ir::kDefaultMaxSteps where there is no trip count
  std::int64_t max_memory = 0;  ///< bytes; 0: as MemoryBudget has it
  /// Asked from any of the threads that run, by one at a time.
  std::function<bool()> cancelled;
  /// Called in the caller's thread, about the outermost running loop: see LoopProgress.
  std::function<void(std::uint32_t loop, std::int64_t step, std::int64_t steps)> progress;
};

using Clock = std::chrono::steady_clock;

/// How many steps of one loop may pass between two polls: adapted, so that polls are between a
/// tenth and four tenths of a millisecond apart whatever the loop's speed. Steps may become more
/// expensive than those before: arithmetic on denormals takes a hundred times as long. Whatever
/// else makes a difference is charged where it runs, see plan/cost.h.
class PollInterval {
 public:
  void start(Clock::time_point now) { *this = PollInterval(), last_ = now; }
  /// Counts a step; whether a poll is due.
  bool due() { return --countdown_ <= 0; }
  /// Returns how many steps compiled code may run before the next poll.
  [[nodiscard]] std::int64_t chunk() const { return std::max<std::int64_t>(countdown_, 1); }
  /// Counts steps, at most chunk(); whether a poll is due.
  bool due_after(std::int64_t steps) { return (countdown_ -= steps) <= 0; }
  void polled(Clock::time_point now);

 private:
  Clock::time_point last_;
  std::int64_t interval_ = 1;
  std::int64_t countdown_ = 1;
};

/// How far a loop has come: its number in the flat list (interpreted: its node's), the steps done,
/// and the steps in all (-1: not known).
struct LoopProgress {
  std::uint32_t loop = 0;
  std::int64_t step = 0;
  std::int64_t steps = -1;
};

/// The limits of one run, polled from its start on.
class Watch {
 public:
  explicit Watch(const Limits& limits) : Watch(limits, limits.start.value_or(Clock::now())) {}
  Watch(const Limits& limits, Clock::time_point start)
      : limits_(limits), start_(start), reported_(start) {}

  [[nodiscard]] Clock::time_point start() const { return start_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// Whether a poll may find a reason to stop.
  [[nodiscard]] bool may_stop() const {
    return limits_.cancelled != nullptr || limits_.deadline_seconds > 0;
  }
  /// Checks for cancellation and deadline. Errors: cancelled, limit_reached.
  Expected<void> poll() const { return check(Clock::now(), -1); }
  /// The same after `step` steps of a loop; reports the progress of the outermost one.
  Expected<void> poll(std::int64_t step, const LoopProgress& outermost,
                      PollInterval* interval = nullptr);

 private:
  [[nodiscard]] Expected<void> check(Clock::time_point now, std::int64_t step) const;

  const Limits& limits_;
  Clock::time_point start_, reported_;
};

/// Polls limits for kernels, whose threads ask: one of them at a time, every half millisecond.
class KernelWatch final : public tensor::StopToken {
 public:
  /// While it lives, kernels are told to stop when that run is to end.
  class Run {
   public:
    Run(KernelWatch& of, const Watch& watch) : of_(of) {
      of_.set_stopped(false);
      of_.error_.reset();
      of_.polled_ = watch.start();
      of_.watch_ = watch.may_stop() ? &watch : nullptr;
    }
    ~Run() { of_.watch_ = nullptr; }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    KernelWatch& of_;
  };

  /// Returns why kernels were told to stop. Throws what the caller's function has thrown.
  Error take_error();

 private:
  bool poll() noexcept override;

  const Watch* watch_ = nullptr;  // null: nothing ends the run early
  std::mutex polling_;            // guards what follows
  Clock::time_point polled_;
  std::optional<Error> error_;
  std::exception_ptr thrown_;
};

}  // namespace scanloom::runtime
