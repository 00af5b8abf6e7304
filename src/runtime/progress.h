// RunProgress: the progress of a run, and when it polls its limits. It counts steps and estimated
// time, knows the outermost running loop, and measures the time of such loops. Invariant:
// `outermost` is kNoLoop exactly while no step of any loop is running.
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

  /// `profile` receives the times of nodes; may be null.
  void begin_run(Profile* profile);
  /// Makes this the progress of a worker, which only takes steps of `loop`.
  void begin_worker(std::uint32_t loop) { outermost_ = only_loop_ = loop; }
  /// Resets the step count to zero and the intervals between polls to short ones.
  void begin_steps(const Watch& watch);

  [[nodiscard]] Profile* profile() const { return profile_; }
  [[nodiscard]] std::uint32_t outermost() const { return outermost_; }
  /// Returns the loop of a worker, kNoLoop in the Run itself.
  [[nodiscard]] std::uint32_t only_loop() const { return only_loop_; }

  void add_steps(std::int64_t steps) { steps_ += steps; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// Charges an estimated time, see plan::Op::charge.
  void charge(std::int64_t nanoseconds) { time_left_ -= nanoseconds; }
  /// Whether the charged time is too long to wait for the end of the step before polling.
  [[nodiscard]] bool is_overdue() const { return time_left_ < 0; }

  /// Polls the limits after a step of the loop. Errors: those of Watch::poll, naming the loop.
  Expected<void> poll(std::uint32_t loop, Watch& watch);
  /// Polls the limits within a step. Precondition: is_overdue().
  Expected<void> poll_in_step(Watch& watch);
  /// Polls the limits after a node that may have taken long. Errors name the node.
  Expected<void> poll_after(ir::NodeId node, const Watch& watch) const;
  /// Returns the function that polls while the loop is compiled; empty if no limit can stop the
  /// run.
  [[nodiscard]] plan::MayGoOn poll_while_compiling(std::uint32_t loop, Watch& watch) const;

  /// Starts the clock if no loop is running.
  void arrive();
  /// Records, after arrive(), that single steps follow or that the loop has already taken them all.
  void begin_loop(std::uint32_t loop, bool steps_follow);
  /// Records that the loop's steps have ended.
  void end_loop(std::uint32_t loop);
  /// Excludes time that was not spent in steps, such as compiling, from the times of loops.
  void exclude(double seconds) { began_ += seconds; }
  /// Returns the seconds since the outermost loop began.
  [[nodiscard]] double seconds() const { return seconds_now() - began_; }
  /// Records an execution whose steps ran in parallel on at most `threads` threads.
  void note_parallel(std::uint32_t loop, int threads);
  [[nodiscard]] const std::vector<LoopTime>& times() const { return times_; }

  /// Records the call at which machine code failed; kNowhere if the failure was at an instruction.
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
  double began_ = 0;  // when the outermost loop, or a whole-loop function, began
  std::vector<LoopTime> times_;
};

}  // namespace scanloom::runtime
