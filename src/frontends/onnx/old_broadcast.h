// Broadcasting before the IR's numpy rule, in binary operators before version 7 (many before
// version 8): operands are broadcast only if attribute `broadcast` is set, starting at the axis
// given by attribute `axis`.
#pragma once

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// Returns input 1 reshaped so that numpy's rule broadcasts it against input 0. Errors: it does not
/// fit.
Expected<ir::ValueId> old_broadcast(NodeCtx& ctx, ir::ValueId a, ir::ValueId b);

/// Error: two values that must have equal sizes are known to differ. `b_words` names b in the
/// message.
Expected<void> check_same_sizes(NodeCtx& ctx, ir::ValueId a, ir::ValueId b,
                                std::string_view b_words);

}  // namespace scanloom::onnx
