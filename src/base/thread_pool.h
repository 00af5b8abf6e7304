// One thread pool per process. The caller cuts the work into chunks, independently of the number of
// threads, so results do not depend on it.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/function_ref.h"

namespace scanloom {

/// Calls work(0) ... work(chunks - 1) on at most `max_threads` threads, including the caller, and
/// returns when all calls have returned. Does not allocate once the pool runs. Nested calls run in
/// the calling thread. The pool has SCANLOOM_THREADS threads, or one per available core; it starts
/// on first use, and again after a fork. `work` must not throw.
void parallel_for(std::int64_t chunks, int max_threads, FunctionRef<void(std::int64_t)> work);

/// The same; while the caller waits for the other threads at the end, it calls `attend` about 20
/// times a second. `attend` must not throw.
void parallel_for_attended(std::int64_t chunks, int max_threads,
                           FunctionRef<void(std::int64_t)> work, FunctionRef<void()> attend);

/// Number of threads that parallel_for may use, including the caller.
int pool_threads();

/// Why SCANLOOM_THREADS was ignored; empty if it was followed or is not set.
std::string_view threads_warning();

}  // namespace scanloom
