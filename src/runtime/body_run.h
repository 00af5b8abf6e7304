// BodyRun: one execution of the compiled body of a loop. It serves the callbacks of the code and
// records why the code stopped. Inner loops with a trip count known only at run time poll the
// limits, each at its own interval, so that they stop just as stepped loops do.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/kernel_calls.h"
#include "runtime/limits.h"
#include "runtime/loop_control.h"
#include "runtime/loop_state.h"
#include "runtime/progress.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Steps that code may take before it polls, by loop. Kept between executions to avoid allocation.
struct PollCounts {
  explicit PollCounts(std::size_t loops) : left(loops), granted(loops) {}

  std::vector<std::int64_t> left;     ///< what the code counts down
  std::vector<std::int64_t> granted;  ///< `left` when steps were counted last
};

/// Not thread safe.
class BodyRun : jit::BodyFrame {
 public:
  /// The parts of the Run that it uses.
  struct Parts {
    Values& values;
    KernelCalls& kernels;
    RunProgress& progress;
    LoopControl& control;
    PollCounts& polls;
    std::span<LoopState> loops;
  };

  /// Prepares to take steps of `loop`. `body` must outlive this object.
  BodyRun(const Parts& parts, std::uint32_t loop, const plan::BodyCode& body, Watch& watch);

  /// Takes steps up to `last`; returns the result of the jit::CompiledBodyFn.
  std::int64_t take_steps(const jit::CompiledBody& code, std::int64_t last);

  [[nodiscard]] bool has_failed() const { return failed_; }
  /// Returns why the code stopped. Rethrows an exception from a callback of the user.
  Expected<void> error();

 private:
  static bool poll_now(jit::BodyFrame* frame, std::int64_t loop, std::int64_t steps,
                       std::int64_t body_step) noexcept;
  void poll_after(std::uint32_t loop);
  /// Lets the loop take steps until its next poll.
  void grant(std::uint32_t loop);
  /// Counts the steps taken; returns whether a poll is due.
  bool count(std::uint32_t loop);
  template <class F>
  void for_loops_inside(F&& f);

  Parts parts_;
  const plan::Binding& binding_;
  std::uint32_t index_;
  Watch& watch_;
  bool failed_ = false;
  Expected<void> polled_;
  std::exception_ptr thrown_;
};

}  // namespace scanloom::runtime
