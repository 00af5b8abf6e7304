// Work that a caller may stop waiting for, in threads of their own.
#pragma once

#include <functional>

namespace scanloom {

/// Begins to call `work`, which must not throw, in another thread; false: there is none to be had,
/// and nothing is called. The process does not end before it has returned, nor does it fork: no
/// child finds locks taken by a thread that it lacks. What `work` needs must live as long, and
/// libraries that it uses must have been loaded before.
bool run_in_background(std::function<void()> work);

}  // namespace scanloom
