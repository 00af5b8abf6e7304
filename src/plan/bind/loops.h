// Binds loops. Each takes one of two forms, chosen before anything of it is emitted: one call of
// machine code that runs all steps (whole_loop.h), or a stepped body, whose scanned slices are
// slots that move and whose carried states are slots that are swapped.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Binds a loop, or starts to: the body of a stepped loop is walked next. Errors: invalid_argument
/// and invalid_model (controls of several elements, numbers of slices and steps that differ).
Expected<void> bind_loop(BindContext& ctx, ir::NodeId id);

/// Ends the body of a stepped loop. Errors: invalid_argument (a condition of several elements).
Expected<void> finish_loop(BindContext& ctx, RegionFrame& frame);

}  // namespace scanloom::plan
