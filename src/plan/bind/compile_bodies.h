// Machine code for bodies and regions of them that is made when binding, because steps that are
// known or were stepped before pay for it. The other code is made when runs have taken enough
// steps.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Precondition: the buffers are placed. Sets ctx.stopped where compiling was to end.
void compile_bodies(BindContext& ctx);

}  // namespace scanloom::plan
