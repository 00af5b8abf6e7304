// LoopDriver: loops whose steps are instructions: entering, stepping and leaving. Per step it moves
// the slots of slices and rows and swaps the slots of states; no allocation, look-up, lock or
// virtual call, except in the one step of a Run in which the code of a body is made. Invariant: at
// the beginning of a step, slices, states and rows have the slots that the body reads and writes.
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

/// Not thread safe. Errors: those of limits and of memory, invalid_argument (slices, rows or a
/// condition that do not fit); they name the loop.
class LoopDriver {
 public:
  /// What it works on.
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

  /// Comes to a loop: takes all of its steps at once where that is possible, or begins it. Returns
  /// whether steps follow, one after the other.
  Expected<bool> arrive(std::uint32_t loop, Watch& watch);
  /// Ends a step; returns whether another one follows. If not, the loop has taken all of its steps.
  Expected<bool> end_step(std::uint32_t loop, Watch& watch);
  /// Makes the results of a loop that has taken its steps.
  Expected<void> finish(std::uint32_t loop);
  /// Sets the slices of a step.
  Expected<void> begin_slices(const plan::BoundLoop& loop, std::int64_t step);

 private:
  [[nodiscard]] std::byte*& slot(plan::SlotId id) { return slots_[static_cast<std::size_t>(id)]; }
  /// Begins the loop; whether any step runs.
  Expected<bool> begin(std::uint32_t loop, Watch& watch);
  void swap_states(const plan::BoundLoop& loop, bool first_step);
  Expected<void> next_slices(const plan::BoundLoop& loop, std::int64_t step);
  /// Hands the steps that are left to threads, after the first step; whether they took them.
  Expected<bool> take_in_parallel(std::uint32_t loop, Watch& watch);

  Parts parts_;
  const plan::Binding& binding_;
  const std::span<std::byte*> slots_;  // of the values, which every step moves
};

}  // namespace scanloom::runtime
