// The limits of one run, and when to poll them: a few times per millisecond and after long nodes,
// at almost no cost per step.
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
  /// When the run began, if that was before its execution.
  std::optional<std::chrono::steady_clock::time_point> start = {};
  std::int64_t max_steps = -1;  ///< -1: ir::kDefaultMaxSteps where there is no trip count
  std::int64_t max_memory = 0;  ///< bytes; 0: the default of MemoryBudget
  /// Called from any of the running threads, but by only one at a time.
  std::function<bool()> cancelled;
  /// Called in the caller's thread with the progress of the outermost running loop (LoopProgress).
  std::function<void(std::uint32_t loop, std::int64_t step, std::int64_t steps)> progress;
  /// Called at every poll, from any of the running threads, also at the same time; acts about 20
  /// times a second in the caller's thread, where it may set what `cancelled` reads.
  std::function<void(std::chrono::steady_clock::time_point now)> on_poll;
};

using Clock = std::chrono::steady_clock;

/// The number of steps of one loop between two polls. It adapts to the loop's speed, so that polls
/// are 0.1 to 0.4 ms apart. Steps may become slower than earlier ones; arithmetic on denormals, for
/// example, takes a hundred times as long. Other causes are charged where they run (plan/cost.h).
class PollInterval {
 public:
  void start(Clock::time_point now) { *this = PollInterval(), last_ = now; }
  /// Counts a step; returns whether a poll is due.
  bool due() { return --countdown_ <= 0; }
  /// Returns how many steps compiled code may run before the next poll.
  [[nodiscard]] std::int64_t chunk() const { return std::max<std::int64_t>(countdown_, 1); }
  /// Counts up to chunk() steps; returns whether a poll is due.
  bool due_after(std::int64_t steps) { return (countdown_ -= steps) <= 0; }
  void polled(Clock::time_point now);

 private:
  Clock::time_point last_;
  std::int64_t interval_ = 1;
  std::int64_t countdown_ = 1;
};

/// The progress of a loop: its index in the binding (in the interpreter, its node's), the steps
/// done, and the total (-1: unknown).
struct LoopProgress {
  std::uint32_t loop = 0;
  std::int64_t step = 0;
  std::int64_t steps = -1;
};

/// Polls the limits of one run.
class Watch {
 public:
  explicit Watch(const Limits& limits) : Watch(limits, limits.start.value_or(Clock::now())) {}
  Watch(const Limits& limits, Clock::time_point start)
      : limits_(limits), start_(start), reported_(start) {}

  [[nodiscard]] Clock::time_point start() const { return start_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// Whether a poll may find a reason to stop.
  [[nodiscard]] bool may_stop() const {
    return limits_.cancelled != nullptr || limits_.deadline_seconds > 0 ||
           limits_.on_poll != nullptr;
  }
  /// Calls Limits::on_poll, if there is one.
  void call_on_poll(Clock::time_point now) const {
    if (limits_.on_poll) limits_.on_poll(now);
  }
  /// Checks for cancellation and deadline. Errors: cancelled, limit_reached.
  Expected<void> poll() const { return check(Clock::now(), -1); }
  /// Polls after `step` steps of a loop, and reports the progress of the outermost one.
  Expected<void> poll(std::int64_t step, const LoopProgress& outermost,
                      PollInterval* interval = nullptr);

 private:
  [[nodiscard]] Expected<void> check(Clock::time_point now, std::int64_t step) const;

  const Limits& limits_;
  Clock::time_point start_, reported_;
};

/// Polls the limits for kernels: any of their threads may ask, one polls every half millisecond.
class KernelWatch final : public tensor::StopToken {
 public:
  /// While it lives, kernels stop when the limits end that run.
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

  /// Returns why kernels had to stop. Rethrows an exception from the caller's function.
  Error take_error();

 private:
  bool poll() noexcept override;
  /// Returns whether the run is to end. May throw.
  bool polled_stop();

  const Watch* watch_ = nullptr;  // null: nothing ends the run early
  std::mutex polling_;            // guards the members below
  Clock::time_point polled_;
  std::optional<Error> error_;
  std::exception_ptr thrown_;
};

}  // namespace scanloom::runtime
