// Results of a run: memory for those of known sizes before it, and those whose sizes the run has
// decided after it. Free functions over what a Run holds.
#pragma once

#include <cstddef>
#include <span>

#include "base/expected.h"
#include "runtime/result_memory.h"
#include "runtime/run.h"
#include "runtime/run_memory.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Returns results with memory where their sizes are known, and points the slots of feeds and
/// results to their memory. Error: out_of_memory.
Expected<RunResult> begin_results(Values& values, ResultMemory& memory,
                                  std::span<const std::byte* const> feeds);
/// Adds the results that are dynamic tensors or objects. Errors: limit_reached, out_of_memory.
Expected<void> finish_results(Values& values, RunMemory& memory, RunResult& result);

}  // namespace scanloom::runtime
