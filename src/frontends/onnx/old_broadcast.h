// How operators of two operands broadcast in versions before 7, and those of many before 8: only
// where attribute `broadcast` says so, from the axis that attribute `axis` names on. Numpy's rule,
// which the IR follows, came later.
#pragma once

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// Input 1, as numpy's rule must see it beside input 0. Errors: it does not fit.
Expected<ir::ValueId> old_broadcast(NodeCtx& ctx, ir::ValueId a, ir::ValueId b);

/// Errors where two values that must have the same sizes are known not to. `b_words` names b.
Expected<void> check_same_sizes(NodeCtx& ctx, ir::ValueId a, ir::ValueId b,
                                std::string_view b_words);

}  // namespace scanloom::onnx
