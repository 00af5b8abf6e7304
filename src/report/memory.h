// The memory of a run: how much of the arena is in use from its first to its last moment, and for
// which nodes.
#pragma once

#include "plan/binding.h"
#include "report/json.h"

namespace scanloom::report {

/// Returns the bytes of each kind of memory, the buffers of the arena with their lifetimes, and the
/// moments at which loops begin and end. `data_bytes`: the bytes of values whose sizes depend on
/// data, in the last run; -1: there was none.
Json memory(const plan::Binding& binding, std::int64_t data_bytes);

}  // namespace scanloom::report
