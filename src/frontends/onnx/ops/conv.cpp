// Conv and QLinearConv.
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/window_attributes.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

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
