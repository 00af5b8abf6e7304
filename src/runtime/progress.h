// RunProgress: how far a run has come, and when it polls its limits. It counts steps and estimated
// time, knows the outermost loop whose steps are running, and measures what such loops take.
// Invariant: `outermost` is kNoLoop exactly while no step of any loop is running.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/limits.h"
#include "runtime/loop_state.h"
#include "runtime/run.h"

namespace scanloom::runtime {

/// Returns the time of a monotonic clock.
double seconds_now();

class RunProgress {
 public:
  static constexpr std::uint32_t kNoLoop = ~std::uint32_t{0};
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  RunProgress(const plan::Binding& binding, std::span<LoopState> loops);

  /// `profile`: where the times of nodes go, or null.
  void begin_run(Profile* profile);
  /// Makes this the progress of a worker, which takes steps of `loop` and does nothing else.
  void begin_worker(std::uint32_t loop) { outermost_ = only_loop_ = loop; }
  /// Begins the counting of steps: from none, and with short intervals between polls.
  void begin_steps(const Watch& watch);

  [[nodiscard]] Profile* profile() const { return profile_; }
  [[nodiscard]] std::uint32_t outermost() const { return outermost_; }
  /// Returns the loop of a worker, kNoLoop in the Run itself.
  [[nodiscard]] std::uint32_t only_loop() const { return only_loop_; }

  void add_steps(std::int64_t steps) { steps_ += steps; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// Charges an estimate of the time that something took, see plan::Op::charge.
  void charge(std::int64_t nanoseconds) { time_left_ -= nanoseconds; }
  /// Whether so much was charged that waiting for the end of the step may be too long.
  [[nodiscard]] bool is_overdue() const { return time_left_ < 0; }

  /// Polls the limits after a step of the loop. Errors: those of Watch::poll, naming the loop.
  Expected<void> poll(std::uint32_t loop, Watch& watch);
  /// The same within a step, where is_overdue().
  Expected<void> poll_in_step(Watch& watch);
  /// The same after a node that may have taken long. Errors name the node.
  Expected<void> poll_after(ir::NodeId node, const Watch& watch) const;
  /// Returns what polls while the loop is compiled; nothing where no limit can stop the run.
  [[nodiscard]] plan::MayGoOn poll_while_compiling(std::uint32_t loop, Watch& watch) const;

  /// Starts the clock where no loop is running.
  void arrive();
  /// After arrive(): the loop has taken all of its steps at once, or they follow.
  void begin_loop(std::uint32_t loop, bool steps_follow);
  /// The loop's steps have ended.
  void end_loop(std::uint32_t loop);
  /// Takes time that no step has used out of the times of loops.
  void exclude(double seconds) { began_ += seconds; }
  /// Returns the seconds since the outermost loop began.
  [[nodiscard]] double seconds() const { return seconds_now() - began_; }
  /// Notes an execution whose steps were taken in parallel by at most so many threads.
  void note_parallel(std::uint32_t loop, int threads);
  [[nodiscard]] const std::vector<LoopTime>& times() const { return times_; }

  /// Notes the call at which machine code has failed; kNowhere: instructions know it themselves.
  void set_failed_at(std::uint32_t at) { failed_at_ = at; }
  [[nodiscard]] std::uint32_t failed_at() const { return failed_at_; }

 private:
  [[nodiscard]] LoopProgress shown_for(std::uint32_t loop) const;
  void add_time(std::uint32_t loop);

  const plan::Binding& binding_;
  std::span<LoopState> loops_;
  std::int64_t steps_ = 0;
  std::int64_t time_left_ = 0;  // ns until the next poll
  Profile* profile_ = nullptr;
  std::uint32_t outermost_ = kNoLoop;
  std::uint32_t only_loop_ = kNoLoop;
  std::uint32_t failed_at_ = kNowhere;
  double began_ = 0;  // when the outermost loop, or one without instructions, began
  std::vector<LoopTime> times_;
};

}  // namespace scanloom::runtime
