// Passes on chosen loops, for run.cpp. Loops in which a pass may change the last bits are not
// unrolled before the passes have settled: then that pass has decided, for any number of steps, and
// what is left of the loops is unrolled like all others.
#pragma once

#include <functional>
#include <set>

#include "passes/pass.h"

namespace scanloom::passes {

using WhichLoops = std::function<bool(ir::NodeId loop)>;

/// Whether accumulate_as_product or, with Numerics::fast, linear_recurrences or fuse_multiply_add
/// may change the loop.
bool waits_to_unroll(const ir::Module& module, ir::NodeId loop, bool fast);
/// Returns the loops that can be replaced by their steps.
std::set<ir::NodeId> short_loops(const ir::Module& module);

/// Replaces those of the short loops for which `which` holds.
Expected<Change> unroll_loops(ir::Module& module, const WhichLoops& which);
/// The pass linear_recurrences, on those loops alone.
Expected<Change> linear_recurrences_in(ir::Module& module, const WhichLoops& which);
/// The pass fuse_multiply_add, in the bodies of those loops and what is in them.
Expected<Change> fuse_multiply_add_in(ir::Module& module, const WhichLoops& which);

}  // namespace scanloom::passes
