// Compiles bodies and outlined regions when binding, if known steps or those of earlier runs pay
// for it. Other code is compiled once runs have taken enough steps.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Precondition: the buffers are placed. Sets ctx.stopped if compiling was cancelled.
void compile_bodies(BindContext& ctx);

}  // namespace scanloom::plan
