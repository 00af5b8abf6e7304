// One thread pool per process. Work is cut into chunks by the caller, never by the number of
// threads, so results do not depend on how many there are.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/function_ref.h"

namespace scanloom {

/// Calls work(0) ... work(chunks - 1), on at most `max_threads` threads of which the caller is one,
/// and returns when all have returned. Allocates nothing once the pool runs. Calls from inside work
/// run in the calling thread. The pool has SCANLOOM_THREADS threads, or one per available core; it
/// starts at first use, and again after a fork. `work` must not throw.
void parallel_for(std::int64_t chunks, int max_threads, FunctionRef<void(std::int64_t)> work);

/// Threads that parallel_for may use, the caller included.
int pool_threads();

/// Why SCANLOOM_THREADS was not followed; empty when it was, or is not set.
std::string_view threads_warning();

}  // namespace scanloom
