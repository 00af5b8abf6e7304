// Ordinary nodes: views become offsets and strides, everything else one call of the first kernel
// that accepts the operands as they are; one whose sizes only the run knows is a dynamic call.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Makes the result a view of the first operand. False where strides cannot express it.
/// Precondition: all sizes are known, and the operator is a view.
bool bind_view(BindContext& ctx, ir::NodeId id);

/// A call. Precondition: all sizes are known. Errors: unsupported (there is no kernel).
Expected<void> bind_kernel(BindContext& ctx, ir::NodeId id);

/// A call whose sizes are known when it runs. Errors: unsupported (there is no kernel).
Expected<void> bind_dynamic(BindContext& ctx, ir::NodeId id);

}  // namespace scanloom::plan
