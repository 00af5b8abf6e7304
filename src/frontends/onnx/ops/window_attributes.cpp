#include "frontends/onnx/ops/window_attributes.h"

namespace scanloom::onnx {

Expected<const char*> auto_pad(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::string mode, ctx.text("auto_pad", "NOTSET"));
  if (mode == "NOTSET") return "explicit";
  if (mode == "SAME_UPPER") return "same_upper";
  if (mode == "SAME_LOWER") return "same_lower";
  if (mode == "VALID") return "valid";
  return invalid_model("attribute 'auto_pad' is '{}', which is not a padding mode", mode);
}

Expected<void> check_kernel_shape(NodeCtx& ctx, ir::ValueId weights) {
  SCANLOOM_TRY(const auto kernel, ctx.integers("kernel_shape"));
  const tensor::Type& type = ctx.type(weights);
  if (kernel.empty() || !type.ranked) return {};
  if (type.rank() != static_cast<int>(kernel.size()) + 2)
    return invalid_model("attribute 'kernel_shape' has {} sizes, but the weights have {} axes",
                         kernel.size(), type.rank());
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const tensor::Dim dim = type.dims[i + 2];
    if (dim.is_constant() && dim.value() != kernel[i])
      return invalid_model("attribute 'kernel_shape' is {} on axis {}, but the weights have {}",
                           kernel[i], i, dim.value());
  }
  return {};
}

}  // namespace scanloom::onnx
