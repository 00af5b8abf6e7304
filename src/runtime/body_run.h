// One execution of a body's code: what it may ask of the run, and what it has stopped at.
#pragma once

#include <cstdint>
#include <exception>

#include "runtime/state.h"

namespace scanloom::runtime {

/// Takes the steps of loop `index`. The code polls limits within inner loops whose number of
/// steps only the run knows, at the pace of each, so that they stop as stepped ones do.
class Run::State::BodyRun : jit::BodyFrame {
 public:
  BodyRun(State& state, std::uint32_t index, const plan::BodyCode& body, Watch& watch);

  /// Up to `last`; returns what a jit::CompiledBodyFn does.
  std::int64_t take_steps(const jit::CompiledBody& code, std::int64_t last);

  [[nodiscard]] bool has_failed() const { return failed_; }
  /// What the code has stopped at. Throws what one of the user's functions threw.
  Expected<void> error();

 private:
  static bool poll_now(jit::BodyFrame* frame, std::int64_t loop, std::int64_t steps,
                       std::int64_t body_step) noexcept;
  void poll_after(std::uint32_t loop);
  void grant(std::uint32_t loop);
  bool count(std::uint32_t loop);
  template <class F>
  void for_loops_inside(F&& f);

  State& state_;
  std::uint32_t index_;
  Watch& watch_;
  bool failed_ = false;
  Expected<void> polled_;
  std::exception_ptr thrown_;
};

}  // namespace scanloom::runtime
