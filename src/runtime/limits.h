// Limits of one run and how they are watched: cheaply per step, exactly a few times per
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
  /// Of the outermost loop that is running: see LoopProgress. Called in the caller's thread.
  std::function<void(std::uint32_t loop, std::int64_t step, std::int64_t steps)> progress;
};

using Clock = std::chrono::steady_clock;

/// How many steps of one loop may pass between two looks: adapted, so that looks come between a
/// tenth and four tenths of a millisecond apart whatever the loop's speed. Steps may become dearer
/// than those that it has seen: arithmetic on denormals takes a hundred times as long. What else
/// makes a difference is counted where it runs, see plan/cost.h.
class Pace {
 public:
  void start(Clock::time_point now) { *this = Pace(), last_ = now; }
  /// Per step: whether it is time to look.
  bool due() { return --countdown_ <= 0; }
  /// How many steps compiled code may run before the next look.
  [[nodiscard]] std::int64_t chunk() const { return std::max<std::int64_t>(countdown_, 1); }
  /// After at most so many: whether it is time to look.
  bool due_after(std::int64_t steps) { return (countdown_ -= steps) <= 0; }
  void looked(Clock::time_point now);

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

/// The limits of one run, from its start on.
class Watch {
 public:
  explicit Watch(const Limits& limits) : Watch(limits, limits.start.value_or(Clock::now())) {}
  Watch(const Limits& limits, Clock::time_point start)
      : limits_(limits), start_(start), reported_(start) {}

  [[nodiscard]] Clock::time_point start() const { return start_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  /// Whether a look may find a reason to stop.
  [[nodiscard]] bool may_stop() const {
    return limits_.cancelled != nullptr || limits_.deadline_seconds > 0;
  }
  /// Cancellation and deadline. Errors: cancelled, limit_reached.
  Expected<void> look() const { return look_at(Clock::now(), -1); }
  /// The same after that many steps of a loop, and progress of the outermost one.
  Expected<void> look(std::int64_t step, const LoopProgress& outermost, Pace* pace = nullptr);

 private:
  [[nodiscard]] Expected<void> look_at(Clock::time_point now, std::int64_t step) const;

  const Limits& limits_;
  Clock::time_point start_, reported_;
};

/// Looks at limits for kernels, whose threads ask: one of them at a time, every half millisecond.
class KernelWatch final : public tensor::StopToken {
 public:
  /// For as long as it lives, kernels are told to stop when that run is to end.
  class Run {
   public:
    Run(KernelWatch& of, const Watch& watch) : of_(of) {
      of_.set_stopped(false);
      of_.error_.reset();
      of_.looked_ = watch.start();
      of_.watch_ = watch.may_stop() ? &watch : nullptr;
    }
    ~Run() { of_.watch_ = nullptr; }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    KernelWatch& of_;
  };

  /// Why kernels were told to stop. Throws what the caller's function has thrown.
  Error take_error();

 private:
  bool look() noexcept override;

  const Watch* watch_ = nullptr;  // null: nothing ends the run early
  std::mutex looking_;            // of what follows
  Clock::time_point looked_;
  std::optional<Error> error_;
  std::exception_ptr thrown_;
};

}  // namespace scanloom::runtime
