// Results of a run: allocates those of static sizes before the run, and collects those whose sizes
// the run decides after it. Free functions over the parts of a Run.
#pragma once

#include <cstddef>
#include <span>

#include "base/expected.h"
#include "runtime/result_memory.h"
#include "runtime/run.h"
#include "runtime/run_memory.h"
#include "runtime/values.h"

namespace scanloom::runtime {

/// Allocates the results of static sizes, and points the slots of feeds and results to their
/// memory. Error: out_of_memory.
Expected<RunResult> begin_results(Values& values, ResultMemory& memory,
                                  std::span<const std::byte* const> feeds);
/// Adds the results that are dynamic tensors or objects. Errors: limit_reached, out_of_memory.
Expected<void> finish_results(Values& values, RunMemory& memory, RunResult& result);

}  // namespace scanloom::runtime
