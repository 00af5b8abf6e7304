// CodeDriver: steps of loops as machine code: whole loops as one function, and code of a body that
// takes over at the beginning of a step, once steps have shown that it pays. It decides when, has
// the code made, and runs it in chunks, between which limits are polled and rows get memory.
// Invariant: what the code leaves is what the same steps leave when they are stepped.
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
#include "runtime/stacked_rows.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe. Errors: those of limits, which name the loop; what cannot be compiled is
/// stepped. Compiling allocates and takes a lock, once per Run.
class CodeDriver {
 public:
  /// What it works on.
  struct Parts {
    Values& values;
    KernelCalls& kernels;
    RunProgress& progress;
    DynamicTensors& tensors;
    StackedRows& rows;
    LoopControl& control;
    RowBlocks& blocks;
    OutlinedRegions& regions;
    std::span<LoopState> loops;
  };
  explicit CodeDriver(const Parts& parts);

  /// Runs a loop that was compiled when binding. Errors also: those of LoopControl::enter.
  Expected<void> run_compiled(std::uint32_t loop, Watch& watch);
  /// Runs the loop as one function if that pays for this execution; whether it did.
  Expected<bool> try_whole(std::uint32_t loop, Watch& watch);

  /// Compiles the body of a loop that is_undecided(), or its regions, once its steps show that this
  /// pays.
  Expected<void> prepare_body(std::uint32_t loop, Watch& watch);
  /// The same in a profiled run, where the code would have taken over in another run.
  Expected<void> prepare_timed_body(std::uint32_t loop, Watch& watch);
  /// Runs the steps that are left. Precondition: LoopState::has_body_code. Errors also:
  /// those of its calls.
  Expected<void> run_body(std::uint32_t loop, Watch& watch);

 private:
  /// Whether so many steps pay for one function, or those that were stepped before.
  [[nodiscard]] bool whole_pays(std::uint32_t loop, std::int64_t steps) const;
  /// Compiles the function of all steps; the state has none afterwards where that cannot be.
  Expected<void> compile_whole_loop(std::uint32_t loop, Watch& watch);
  /// Points the operands of the function to where they are.
  Expected<void> set_operands(std::uint32_t loop, WholeLoop& whole);
  /// The same of those that differ from chunk to chunk.
  void set_chunk(std::uint32_t loop, WholeLoop& whole, bool flip);
  /// Whether a loop inside takes so many steps that it is better off as code of its own, which
  /// keeps its states in registers.
  [[nodiscard]] bool holds_long_loop(std::uint32_t loop) const;
  Expected<void> compile_body(std::uint32_t loop, const plan::MayGoOn& may_go_on);
  Expected<void> compile_timed_body(std::uint32_t loop, Watch& watch);
  /// Takes the steps that are left, `run_steps(last)` those up to `last`: it returns what a
  /// jit::CompiledLoopFn does.
  template <class F>
  Expected<void> run_chunks(std::uint32_t loop, Watch& watch, F&& run_steps);

  Parts parts_;
  const plan::Binding& binding_;
  PollCounts polls_;
};

}  // namespace scanloom::runtime
