// auto_broadcast of binary operations.
#pragma once

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

struct Operands {
  ir::ValueId a, b;
};

/// Inputs `first` and `first + 1`, shaped so that numpy's broadcasting does what attribute
/// auto_broadcast says: numpy (the default), none (sizes must be equal), pdpd (the axes of b begin
/// at attribute `axis` of a). Errors: element types that differ; sizes known to differ for none.
Expected<Operands> broadcast_operands(LayerCtx& ctx, int first = 0);

/// Input i alone, to be broadcast to `whole` as broadcast_operands() does with b.
Expected<ir::ValueId> broadcast_onto(LayerCtx& ctx, ir::ValueId whole, int i);

}  // namespace scanloom::openvino
