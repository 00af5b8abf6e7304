// LoopDriver: enters, steps and leaves loops whose steps are instructions. Each step moves the
// slots of slices and rows and swaps the slots of states. It makes no allocation, look-up, lock or
// virtual call, except in the one step of a Run that compiles the body. Invariant: at the beginning
// of a step, the slots that the body uses point to the slices, states and rows of that step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/code_driver.h"
#include "runtime/dynamic_tensors.h"
#include "runtime/limits.h"
#include "runtime/loop_control.h"
#include "runtime/loop_state.h"
#include "runtime/objects.h"
#include "runtime/parallel_steps.h"
#include "runtime/progress.h"
#include "runtime/row_blocks.h"
#include "runtime/stacked_rows.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Not thread safe. Errors: those of limits and of memory, invalid_argument (mismatched slices,
/// rows or condition); they name the loop.
class LoopDriver {
 public:
  /// The parts of the Run that it uses.
  struct Parts {
    Values& values;
    RunProgress& progress;
    DynamicTensors& tensors;
    Objects& objects;
    StackedRows& rows;
    LoopControl& control;
    RowBlocks& blocks;
    CodeDriver& code;
    ParallelSteps& parallel;
    std::span<LoopState> loops;
  };
  explicit LoopDriver(const Parts& parts)
      : parts_(parts), binding_(parts.values.binding), slots_(parts.values.slots) {}

  /// Enters a loop: takes all of its steps at once if possible, otherwise begins it. Returns
  /// whether single steps follow.
  Expected<bool> arrive(std::uint32_t loop, Watch& watch);
  /// Ends a step; returns whether another one follows.
  Expected<bool> end_step(std::uint32_t loop, Watch& watch);
  /// Produces the results of a loop after its last step.
  Expected<void> finish(std::uint32_t loop);
  /// Sets the slices of any step.
  Expected<void> begin_slices(const plan::BoundLoop& loop, std::int64_t step);

 private:
  [[nodiscard]] std::byte*& slot(plan::SlotId id) { return slots_[static_cast<std::size_t>(id)]; }
  /// Begins the loop; returns whether any step runs.
  Expected<bool> begin(std::uint32_t loop, Watch& watch);
  void swap_states(const plan::BoundLoop& loop, bool first_step);
  /// Sets the slices of a step. `kIsNext`: those of the step before it are set.
  template <bool kIsNext>
  Expected<void> set_slices(const plan::BoundLoop& loop, std::int64_t step);
  /// After the first step, runs the remaining steps on several threads if that pays; returns
  /// whether it did.
  Expected<bool> take_in_parallel(std::uint32_t loop, Watch& watch);

  Parts parts_;
  const plan::Binding& binding_;
  const std::span<std::byte*> slots_;  // of the values; every step moves some
};

}  // namespace scanloom::runtime
