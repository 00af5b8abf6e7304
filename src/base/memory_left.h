// How much memory the process can still take before the system takes it from other processes or
// ends this one, and returning what it no longer needs.
#pragma once

#include <cstdint>
#include <string>

namespace scanloom {

/// Returns the bytes available on the machine, limited by every cgroup (version 1 or 2) around the
/// process and by its address space limit. File pages that can be dropped count as available. Reads
/// some files of `proc` at each call, which takes tens of microseconds. Returns 2^40 if nothing can
/// be found out.
[[nodiscard]] std::int64_t memory_left(const std::string& proc = "/proc");

/// The same, up to a second old. Thread safe.
[[nodiscard]] std::int64_t recent_memory_left();

/// Returns memory to the system that the process has freed but the C library keeps for later
/// allocations. Takes time in proportion to the heap. Does nothing without glibc. Thread safe.
void return_freed_memory();

}  // namespace scanloom
