// A worker of parallel steps: a RunState that begins as a copy of the one that reached the loop
// (`main`) and takes some of the loop's steps. Free functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "runtime/limits.h"
#include "runtime/stacked_rows.h"
#include "tensor/object.h"

namespace scanloom::runtime {

struct RunState;

/// The results of one share of the steps, by port of the loop.
struct StepResults {
  std::vector<tensor::ObjectRef> appended;  ///< by carried value
  StackedRows::Kept rows;                   ///< those kept apart, by stacked value
  std::int64_t steps = 0;                   ///< including those of loops inside
};

/// Returns `value` after adding `increment` in each of `steps` steps; wraps around as the steps do.
std::int64_t count_up(std::int64_t value, std::int64_t steps, std::int64_t increment);

/// Copies the state of `main` to one of `workers` workers. Several workers of one `main` may begin
/// at the same time.
void begin_worker(RunState& worker, const RunState& main, std::uint32_t loop, std::int64_t workers);
/// Takes the steps [first, last) of the worker's loop. Errors: those of the steps.
Expected<StepResults> take_steps(RunState& worker, const RunState& main, std::int64_t first,
                                 std::int64_t last, Watch& watch);
/// Frees everything that the worker holds except its arena, which `main` counts.
void end_worker(RunState& worker);

}  // namespace scanloom::runtime
