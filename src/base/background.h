// Work in threads of its own that a caller may stop waiting for.
#pragma once

#include <functional>

namespace scanloom {

/// Starts calling `work`, which must not throw, in another thread. Returns false, without calling
/// anything, if no thread can be started. The process neither ends nor forks before `work` has
/// returned, so a child never finds locks held by a thread that it lacks. Everything `work` uses
/// must live that long, and libraries that it needs must be loaded beforehand.
bool run_in_background(std::function<void()> work);

}  // namespace scanloom
