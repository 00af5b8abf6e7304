// SpeculatedSteps: decides whether the steps of a loop that is machine code are speculated in this
// run, and takes them so (speculation.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/expected.h"
#include "plan/plan.h"
#include "runtime/limits.h"
#include "runtime/loop_state.h"
#include "runtime/speculation.h"
#include "runtime/step_taker.h"

namespace scanloom::runtime {

struct RunState;

/// Not thread safe. Errors: those of limits and of the calls of steps, which name the loop.
class SpeculatedSteps {
 public:
  /// `main` is the RunState that contains this object and runs the loops.
  explicit SpeculatedSteps(RunState& main) : main_(main) {}

  /// Takes all steps of a loop that is compiled as a whole and was entered, if that may pay;
  /// returns whether it did. `whole` has the addresses of its operands.
  Expected<bool> take_whole(std::uint32_t loop, const WholeLoop& whole, Watch& watch);
  /// Takes the remaining steps of a loop whose body is compiled, if that may pay; returns whether
  /// it did.
  Expected<bool> take_body(std::uint32_t loop, const plan::BodyCode& body, Watch& watch);

 private:
  [[nodiscard]] SpeculationPlan plan_for(std::uint32_t loop);
  /// Whether a plan that speculates is carried out in this run: if there is memory for it, with
  /// `own_bytes` for each thread, and earlier runs have gained something.
  [[nodiscard]] bool admits(std::uint32_t loop, SpeculationPlan& plan, std::int64_t own_bytes);
  using MakeTaker = std::function<std::unique_ptr<StepTaker>()>;
  /// Takes the remaining steps; returns whether they succeeded.
  Expected<bool> take(std::uint32_t loop, const SpeculationPlan& plan, StepTaker& steps,
                      MakeTaker make_taker, Watch& watch);

  RunState& main_;
};

}  // namespace scanloom::runtime
