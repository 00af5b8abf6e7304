// auto_broadcast of binary operations.
#pragma once

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

struct Operands {
  ir::ValueId a, b;
};

/// Inputs `first` and `first + 1`, shaped so that numpy's broadcasting does what attribute
/// auto_broadcast says: numpy (the default), none or explicit (sizes must be equal), pdpd (the axes
/// of b begin at attribute `axis` of a, 0 where it is missing). Errors: element types that differ;
/// sizes known to differ where they must be equal.
Expected<Operands> broadcast_operands(LayerCtx& ctx, int first = 0);

/// Input i alone, to be broadcast to `whole` as broadcast_operands() does with b.
Expected<ir::ValueId> broadcast_onto(LayerCtx& ctx, ir::ValueId whole, int i);

/// x, which is input i, with axes of one element so that its first one is axis `start` of `rank`;
/// -1: as far behind as it goes. Error: it does not fit there.
Expected<ir::ValueId> placed_at(LayerCtx& ctx, ir::ValueId x, int i, int rank, std::int64_t start);

}  // namespace scanloom::openvino
