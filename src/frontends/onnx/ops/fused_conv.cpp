// Convolutions and pools of com.microsoft: FusedConv, which adds a tensor and applies an
// activation, NhwcConv, NhwcFusedConv and NhwcMaxPool with the channels last, and
// ConvTransposeWithDynamicPads.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/fused_activation.h"
#include "frontends/onnx/ops/window_attributes.h"
#include "frontends/onnx/ops/window_layout.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

Expected<std::vector<ir::NamedAttr>> window_attributes(NodeCtx& ctx,
                                                       std::initializer_list<const char*> lists) {
  SCANLOOM_TRY(const char* const mode, auto_pad(ctx));
  std::vector<ir::NamedAttr> attrs = {{"auto_pad", mode}};
  for (const char* const name : lists) {
    if (!ctx.has_attribute(name)) continue;
    SCANLOOM_TRY(auto values, ctx.integers(name));
    if (!values.empty()) attrs.push_back({name, std::move(values)});
  }
  return attrs;
}

/// conv, plus operand `added` (-1: there is none), then the activation.
Expected<void> convert_conv_and_more(NodeCtx& ctx, bool last, int added) {
  Composer c(ctx);
  const ValueId given = c.in(0), weights = c.in(1), bias = c.optional_in(2);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_CHECK_OK(check_kernel_shape(ctx, weights));
  SCANLOOM_TRY(auto attrs, window_attributes(ctx, {"dilations", "pads", "strides"}));
  attrs.push_back({"group", c.integer("group", 1)});
  const int rank = last ? c.rank(0, given, 2) : 0;
  const ValueId x = last ? channels_first(c, given, rank) : given;
  ValueId y = c.op(ops::conv_op, {x, weights, bias}, std::move(attrs));
  if (last) y = channels_last(c, y, rank);
  const ValueId z = added < 0 ? ValueId{} : c.optional_in(added);
  if (z.valid()) y = c.add(y, z);
  const std::vector<double> parameters = c.take(ctx.floats("activation_params"));
  return c.emit(fused_activation(c, y, c.text("activation", ""), parameters));
}

}  // namespace

Expected<void> convert_fused_conv(NodeCtx& ctx) { return convert_conv_and_more(ctx, false, 3); }

Expected<void> convert_nhwc_conv(NodeCtx& ctx) {
  return convert_conv_and_more(ctx, true, ctx.op_type() == "NhwcConv" ? -1 : 3);
}

Expected<void> convert_nhwc_max_pool(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId given = c.in(0);
  const int rank = c.rank(0, given, 3);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(auto attrs, window_attributes(ctx, {"dilations", "pads", "strides"}));
  SCANLOOM_TRY(auto kernel, window_sizes(ctx, rank));
  attrs.push_back({"kernel", std::move(kernel)});
  attrs.push_back({"ceil_mode", c.integer("ceil_mode", 0) != 0});
  attrs.push_back({"storage_order", 0});
  const ValueId x = channels_first(c, given, rank);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::max_pool_op, {x}, std::move(attrs), 2));
  return c.emit(channels_last(c, ctx.module().node(node).outputs[0], rank));
}

// The amounts of padding are an operand, and must be constant.
Expected<void> convert_conv_transpose_with_dynamic_pads(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), weights = c.in(1), bias = c.optional_in(3);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_CHECK_OK(check_kernel_shape(ctx, weights));
  SCANLOOM_TRY(auto attrs,
               window_attributes(ctx, {"dilations", "output_padding", "output_shape", "strides"}));
  attrs.push_back({"group", c.integer("group", 1)});
  SCANLOOM_TRY(auto pads, ctx.constant_integers(2));
  if (pads && !pads->empty()) attrs.push_back({"pads", *std::move(pads)});
  const DType wide = at_least_f32(c.dtype(x));
  const ValueId b = bias.valid() ? c.cast(bias, wide) : bias;
  const ValueId y =
      c.op(ops::conv_transpose_op, {c.cast(x, wide), c.cast(weights, wide), b}, std::move(attrs));
  return c.emit(c.cast(y, c.dtype(x)));
}

}  // namespace scanloom::onnx
