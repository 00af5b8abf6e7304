// CodeDriver: runs loops as machine code, either a whole loop as one function or a compiled body
// that takes over at the beginning of a step once the steps so far show that it pays. It decides
// when to compile, and runs the code in chunks; between chunks it polls the limits and reserves
// memory for rows. Invariant: code and stepped instructions leave the same state.
#pragma once

#include <cstdint>
#include <span>

#include "base/expected.h"
#include "plan/binding.h"
#include "plan/plan.h"
#include "runtime/body_run.h"
#include "runtime/dynamic_tensors.h"
#include "runtime/kernel_calls.h"
#include "runtime/limits.h"
#include "runtime/loop_control.h"
#include "runtime/loop_state.h"
#include "runtime/outlined_regions.h"
#include "runtime/progress.h"
#include "runtime/row_blocks.h"
#include "runtime/speculated_steps.h"
#include "runtime/stacked_rows.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe. Errors: those of limits, which name the loop. A loop that cannot be compiled is
/// stepped. Compiling allocates and takes a lock, once per Run.
class CodeDriver {
 public:
  /// The parts of the Run that it uses.
  struct Parts {
    Values& values;
    KernelCalls& kernels;
    RunProgress& progress;
    DynamicTensors& tensors;
    StackedRows& rows;
    LoopControl& control;
    RowBlocks& blocks;
    OutlinedRegions& regions;
    SpeculatedSteps& speculated;
    std::span<LoopState> loops;
  };
  explicit CodeDriver(const Parts& parts);

  /// Runs a loop that was compiled when binding. Errors also: those of LoopControl::enter.
  Expected<void> run_compiled(std::uint32_t loop, Watch& watch);
  /// Runs the loop as one function if that pays for this execution; returns whether it did.
  Expected<bool> try_whole(std::uint32_t loop, Watch& watch);

  /// Compiles the body of a loop, or its outlined regions, once its steps show that this pays.
  /// Precondition: LoopState::is_undecided.
  Expected<void> prepare_body(std::uint32_t loop, Watch& watch);
  /// Compiles the timed body of a profiled run, at the step where an unprofiled run would switch to
  /// compiled code.
  Expected<void> prepare_timed_body(std::uint32_t loop, Watch& watch);
  /// Runs the remaining steps. Precondition: LoopState::has_body_code. Errors also: those of its
  /// calls.
  Expected<void> run_body(std::uint32_t loop, Watch& watch);

 private:
  /// Whether compiling one function pays for `steps` steps, or for those stepped before.
  [[nodiscard]] bool whole_pays(std::uint32_t loop, std::int64_t steps) const;
  /// Compiles one function for all steps. If that is impossible, the state has none afterwards.
  Expected<void> compile_whole_loop(std::uint32_t loop, Watch& watch);
  /// Finishes stacks of a number of rows that only the run knows.
  Expected<void> finish_open_rows(std::uint32_t loop);
  /// Sets the addresses of the function's operands.
  Expected<void> set_operands(std::uint32_t loop, WholeLoop& whole);
  /// Sets the addresses of the operands that move between chunks: blocks of rows, and stacks.
  void set_moved_operands(std::uint32_t loop, WholeLoop& whole);
  /// Sets the addresses of the states before and after a chunk.
  void set_states(std::uint32_t loop, WholeLoop& whole, bool flip);
  /// Whether an inner loop takes so many steps that it runs faster as code of its own, which keeps
  /// its states in registers.
  [[nodiscard]] bool holds_long_loop(std::uint32_t loop) const;
  Expected<void> compile_body(std::uint32_t loop, const plan::MayGoOn& may_go_on);
  Expected<void> compile_timed_body(std::uint32_t loop, Watch& watch);
  /// Takes the remaining steps in chunks. `run_steps(last)` takes those up to `last` and returns
  /// the result of a jit::CompiledLoopFn.
  template <class F>
  Expected<void> run_chunks(std::uint32_t loop, Watch& watch, F&& run_steps);

  Parts parts_;
  const plan::Binding& binding_;
  PollCounts polls_;
};

}  // namespace scanloom::runtime
