// Constant, which is a range of the weights.
#include "frontends/openvino/ops/converters.h"

namespace scanloom::openvino {

Expected<void> convert_constant(LayerCtx& ctx) {
  std::vector<std::string> warned;
  SCANLOOM_TRY(tensor::Tensor value, ctx.reading().weights.constant(ctx.layer(), warned));
  for (const std::string& warning : warned)
    ctx.reading().diagnostics.warning(
        fmt::format("openvino: {}: {}", describe(ctx.layer()), warning));
  ctx.set_constant(0, std::move(value));
  return {};
}

}  // namespace scanloom::openvino
