// Conv and QLinearConv.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

Expected<const char*> auto_pad(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::string mode, ctx.text("auto_pad", "NOTSET"));
  if (mode == "NOTSET") return "explicit";
  if (mode == "SAME_UPPER") return "same_upper";
  if (mode == "SAME_LOWER") return "same_lower";
  if (mode == "VALID") return "valid";
  return invalid_model("attribute 'auto_pad' is '{}', which is no way to pad", mode);
}

/// kernel_shape repeats what the weights say.
Expected<void> check_kernel_shape(NodeCtx& ctx, ValueId weights) {
  SCANLOOM_TRY(const auto kernel, ctx.integers("kernel_shape"));
  const tensor::Type& type = ctx.type(weights);
  if (kernel.empty() || !type.ranked) return {};
  if (type.rank() != static_cast<int>(kernel.size()) + 2)
    return invalid_model("attribute 'kernel_shape' has {} sizes, the weights have {} axes",
                         kernel.size(), type.rank());
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    const tensor::Dim dim = type.dims[i + 2];
    if (dim.is_constant() && dim.value() != kernel[i])
      return invalid_model("attribute 'kernel_shape' says {} on axis {}, the weights have {}",
                           kernel[i], i, dim.value());
  }
  return {};
}

Expected<std::vector<ir::NamedAttr>> conv_attributes(NodeCtx& ctx, ValueId weights) {
  SCANLOOM_CHECK_OK(check_kernel_shape(ctx, weights));
  SCANLOOM_TRY(const char* const mode, auto_pad(ctx));
  SCANLOOM_TRY(const std::int64_t group, ctx.integer("group", 1));
  std::vector<ir::NamedAttr> attrs = {{"auto_pad", mode}, {"group", group}};
  for (const char* const name : {"dilations", "pads", "strides"}) {
    if (!ctx.has_attribute(name)) continue;
    SCANLOOM_TRY(auto values, ctx.integers(name));
    if (!values.empty()) attrs.push_back({name, std::move(values)});
  }
  return attrs;
}

}  // namespace

Expected<void> convert_conv(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId weights, ctx.in(1));
  SCANLOOM_TRY(const ValueId bias, ctx.optional_in(2));
  SCANLOOM_TRY(auto attrs, conv_attributes(ctx, weights));
  return ctx.emit(ops::conv_op, {x, weights, bias}, std::move(attrs));
}

Expected<void> convert_qlinear_conv(NodeCtx& ctx) {
  std::vector<ValueId> operands;
  for (int i = 0; i < 8; ++i) {
    SCANLOOM_TRY(const ValueId operand, ctx.in(i));
    operands.push_back(operand);
  }
  SCANLOOM_TRY(const ValueId bias, ctx.optional_in(8));
  operands.push_back(bias);
  SCANLOOM_TRY(auto attrs, conv_attributes(ctx, operands[3]));
  return ctx.emit(ops::qlinear_conv_op, std::move(operands), std::move(attrs));
}

}  // namespace scanloom::onnx
