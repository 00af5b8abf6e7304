// StackedRows: stacked rows whose number or sizes are known only at run time. Rows of an open stack
// have known sizes and are written in place, in memory that grows. Rows with data-dependent sizes
// are gathered one by one. Strings and concatenated rows of any length are kept apart until the
// loop ends. Rows of known number and sizes are plain slots and not handled here. Invariant:
// LoopState::room steps of a loop have memory for their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/expected.h"
#include "plan/binding.h"
#include "runtime/dynamic_tensors.h"
#include "runtime/loop_state.h"
#include "runtime/objects.h"
#include "runtime/run_memory.h"
#include "runtime/values.h"
#include "tensor/tensor.h"

namespace scanloom::runtime {

/// Not thread safe. Errors: limit_reached, out_of_memory, invalid_argument (mismatched rows); they
/// name the loop.
class StackedRows {
 public:
  StackedRows(Values& values, RunMemory& memory, DynamicTensors& tensors, Objects& objects,
              std::span<LoopState> loops);

  /// Drops the rows that are kept apart.
  void end_run();

  /// Reserves memory for the first rows of the open stacks of a loop that was entered; for all rows
  /// if their number is known.
  Expected<void> begin(std::uint32_t loop);
  /// Reserves memory for at least one more row of the open stacks. Precondition: step == room.
  Expected<void> grow(std::uint32_t loop);
  /// Gathers the row of the present step.
  Expected<void> append(const plan::BoundStacked& port, std::uint32_t loop);
  /// Keeps the row of the present step apart.
  Expected<void> keep(std::uint32_t loop, std::size_t port);
  /// Makes the stacked value from the rows of `steps` steps.
  Expected<void> finish(const plan::BoundStacked& port, std::int64_t steps, ir::NodeId node);
  /// Makes the stacked value from rows that were kept apart.
  Expected<void> join(std::uint32_t loop, std::size_t port);
  /// Makes the empty stacked values of a loop that takes no step.
  Expected<void> make_empty(const plan::BoundLoop& loop);

  using Kept = std::vector<std::vector<tensor::Tensor>>;  ///< by stacked value
  /// Moves the rows kept apart out of this object.
  [[nodiscard]] Kept take_kept(std::uint32_t loop);
  /// Appends kept rows of other steps.
  void append_kept(std::uint32_t loop, Kept rows);

 private:
  /// Whether a loop that was entered is known to take all of its steps.
  [[nodiscard]] bool is_counted(std::uint32_t loop) const;
  /// Checks that the rows of all steps of a counted loop fit into memory. Error: limit_reached.
  Expected<void> check_all(std::uint32_t loop);
  [[nodiscard]] std::int64_t left_for(const plan::BoundLoop& loop);
  [[nodiscard]] std::int64_t rows_that_fit(const plan::BoundStacked& port);
  /// Begins to gather with the first row, which sets the sizes of all rows.
  Expected<void> begin_gathering(const plan::BoundStacked& port, std::uint32_t loop,
                                 const tensor::Shape& dims);
  /// Checks that a row has the sizes of the earlier ones.
  Expected<void> check_row(const plan::BoundStacked& port, std::uint32_t loop,
                           const tensor::Shape& dims);

  Values& values_;
  RunMemory& memory_;
  DynamicTensors& tensors_;
  Objects& objects_;
  std::span<LoopState> loops_;
  std::vector<Kept> kept_;  // by loop
};

}  // namespace scanloom::runtime
