// BodyRun: one execution of the code of a loop's body: what the code may ask of the run, and why it
// has stopped. The code polls limits within inner loops whose number of steps only the run knows,
// at the interval of each, so that they stop as stepped ones do.
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

/// Steps that code may take until it polls, by loop; kept so that nothing is allocated.
struct PollCounts {
  explicit PollCounts(std::size_t loops) : left(loops), granted(loops) {}

  std::vector<std::int64_t> left;     ///< what the code counts down
  std::vector<std::int64_t> granted;  ///< `left` when steps were counted last
};

/// Not thread safe.
class BodyRun : jit::BodyFrame {
 public:
  /// What it works on.
  struct Parts {
    Values& values;
    KernelCalls& kernels;
    RunProgress& progress;
    LoopControl& control;
    PollCounts& polls;
    std::span<LoopState> loops;
  };

  /// To take steps of the loop. `body` outlives it.
  BodyRun(const Parts& parts, std::uint32_t loop, const plan::BodyCode& body, Watch& watch);

  /// Takes steps up to `last`; returns what a jit::CompiledBodyFn does.
  std::int64_t take_steps(const jit::CompiledBody& code, std::int64_t last);

  [[nodiscard]] bool has_failed() const { return failed_; }
  /// Returns why the code has stopped. Throws what one of the user's functions threw.
  Expected<void> error();

 private:
  static bool poll_now(jit::BodyFrame* frame, std::int64_t loop, std::int64_t steps,
                       std::int64_t body_step) noexcept;
  void poll_after(std::uint32_t loop);
  /// Grants the loop the steps until its next poll.
  void grant(std::uint32_t loop);
  /// Counts the steps that were taken; whether a poll is due.
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
