// Declares the converters listed in list.inc.
#pragma once

#include "frontends/openvino/layer_ctx.h"

namespace scanloom::openvino {

#define SCANLOOM_OPENVINO(type, function, min_inputs, max_inputs, ...) \
  Expected<void> convert_##function(LayerCtx& ctx);
#include "frontends/openvino/list.inc"
#undef SCANLOOM_OPENVINO

}  // namespace scanloom::openvino
