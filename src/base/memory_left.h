// How much memory the process can still take before the system takes it from other processes, or
// ends this one.
#pragma once

#include <cstdint>
#include <string>

namespace scanloom {

/// Returns the bytes that the machine has available, within every cgroup (of version 1 or 2) around
/// the process and the limit on its address space. Files in pages that can be dropped count as
/// available. Reads some files of `proc`, anew at each call: tens of microseconds. Where nothing
/// can be found out, 2^40.
[[nodiscard]] std::int64_t memory_left(const std::string& proc = "/proc");

/// The same, but up to a second old. Thread safe.
[[nodiscard]] std::int64_t recent_memory_left();

}  // namespace scanloom
