// Joins steps of element programs in pairs (joined_fns.h), where nothing else reads the result of
// the first. Kernels call it after emitting steps, before columns get their places.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/cpu.h"
#include "kernels/step_emitter.h"

namespace scanloom::kernels {

/// A step, as far as joining looks at it.
struct JoinableStep {
  ElementFn fn = nullptr;  ///< null: only its arguments count
  StepValue out;
  StepArgs args;
  std::size_t phase = 0;  ///< steps of different phases are not joined
};

/// Step `second` becomes fn(args); step `first` is no longer needed. A later join may have this
/// `second` as its `first`.
struct StepJoin {
  std::size_t first = 0, second = 0;
  ElementFn fn = nullptr;
  StepArgs args;
};

/// They are to be applied in order. `results`: values that must exist in the end.
std::vector<StepJoin> find_joins(Isa isa, std::span<const JoinableStep> steps,
                                 std::span<const StepValue> results);

}  // namespace scanloom::kernels
