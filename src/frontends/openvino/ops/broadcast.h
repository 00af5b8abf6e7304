// The auto_broadcast attribute of binary operations.
#pragma once

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

struct Operands {
  ir::ValueId a, b;
};

/// Returns inputs `first` and `first + 1`, reshaped so that numpy broadcasting has the effect of
/// attribute auto_broadcast: numpy (the default); none or explicit (sizes must be equal); pdpd (the
/// axes of b start at axis `axis` of a, 0 if missing). Errors: different element types; sizes known
/// to differ where they must be equal.
Expected<Operands> broadcast_operands(LayerCtx& ctx, int first = 0);

/// Returns input i alone, to be broadcast to `whole` as broadcast_operands() does with b.
Expected<ir::ValueId> broadcast_onto(LayerCtx& ctx, ir::ValueId whole, int i);

/// Returns x, the value of input i, padded with axes of size 1 so that its first axis is axis
/// `start` of `rank`; -1 aligns it with the trailing axes. Error: it does not fit there.
Expected<ir::ValueId> placed_at(LayerCtx& ctx, ir::ValueId x, int i, int rank, std::int64_t start);

}  // namespace scanloom::openvino
