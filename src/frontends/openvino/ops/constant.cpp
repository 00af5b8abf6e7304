// Constant: a range of the weights.
#include "frontends/openvino/ops/converters.h"

namespace scanloom::openvino {

Expected<void> convert_constant(LayerCtx& ctx) {
  SCANLOOM_TRY(tensor::Tensor value, ctx.reading().weights.constant(ctx.layer()));
  ctx.set_constant(0, std::move(value));
  return {};
}

}  // namespace scanloom::openvino
