// Binds ordinary nodes. Views become offsets and strides. Any other node becomes one call of the
// first kernel that accepts the operands as they are, or a dynamic call if only the run knows
// sizes.
#pragma once

#include "plan/bind/context.h"

namespace scanloom::plan {

/// Makes the result a view of the first operand. Returns false if strides cannot express it.
/// Precondition: all sizes are known, and the operator is a view.
bool bind_view(BindContext& ctx, ir::NodeId id);

/// Binds the node as a call. Precondition: all sizes are known. Errors: unsupported (no kernel).
Expected<void> bind_kernel(BindContext& ctx, ir::NodeId id);

/// Binds the node as a call whose sizes are known when it runs. Errors: unsupported (no kernel).
Expected<void> bind_dynamic(BindContext& ctx, ir::NodeId id);

}  // namespace scanloom::plan
