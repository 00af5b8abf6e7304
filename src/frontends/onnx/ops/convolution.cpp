// Col2Im, ConvInteger, ConvTranspose, DeformConv. Those with their own IR operator compute f16 and
// bf16 in f32 and round once.
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/window_attributes.h"
#include "ops/composer.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Axes = std::vector<std::int64_t>;

/// Appends the lists of integers that are present.
Expected<void> add_lists(NodeCtx& ctx, std::initializer_list<const char*> names,
                         std::vector<ir::NamedAttr>& attrs) {
  for (const char* const name : names) {
    if (!ctx.has_attribute(name)) continue;
    SCANLOOM_TRY(auto values, ctx.integers(name));
    if (!values.empty()) attrs.push_back({name, std::move(values)});
  }
  return {};
}

/// Returns input i in the type used for computing; an invalid id if it is absent.
Expected<ValueId> wide_in(NodeCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId value, ctx.optional_in(i));
  if (!value.valid()) return value;
  return ctx.cast(value, ops::at_least_f32(ctx.type(value).dtype));
}

/// Sets output 0 to the value, cast to the element type of input 0.
Expected<void> finish(NodeCtx& ctx, ValueId y) {
  SCANLOOM_TRY(const ValueId given, ctx.in(0));
  SCANLOOM_TRY(const ValueId narrow, ctx.cast(y, ctx.type(given).dtype));
  ctx.set_output(0, narrow);
  return {};
}

}  // namespace

Expected<void> convert_conv_transpose(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, wide_in(ctx, 0));
  SCANLOOM_TRY(const ValueId weights, wide_in(ctx, 1));
  SCANLOOM_TRY(const ValueId bias, wide_in(ctx, 2));
  if (!x.valid() || !weights.valid()) return invalid_model("an input is missing");
  SCANLOOM_CHECK_OK(check_kernel_shape(ctx, weights));
  SCANLOOM_TRY(const char* const mode, auto_pad(ctx));
  SCANLOOM_TRY(const std::int64_t group, ctx.integer("group", 1));
  std::vector<ir::NamedAttr> attrs = {{"auto_pad", mode}, {"group", group}};
  SCANLOOM_CHECK_OK(
      add_lists(ctx, {"dilations", "output_padding", "output_shape", "pads", "strides"}, attrs));
  SCANLOOM_TRY(const ValueId y,
               ctx.op(ops::conv_transpose_op, {x, weights, bias}, std::move(attrs)));
  return finish(ctx, y);
}

Expected<void> convert_deform_conv(NodeCtx& ctx) {
  std::vector<ValueId> operands;
  for (int i = 0; i < 5; ++i) {
    SCANLOOM_TRY(const ValueId operand, wide_in(ctx, i));
    if (i < 3 && !operand.valid()) return invalid_model("input {} is missing", i);
    operands.push_back(operand);
  }
  SCANLOOM_CHECK_OK(check_kernel_shape(ctx, operands[1]));
  SCANLOOM_TRY(const std::int64_t group, ctx.integer("group", 1));
  SCANLOOM_TRY(const std::int64_t offset_group, ctx.integer("offset_group", 1));
  std::vector<ir::NamedAttr> attrs = {{"group", group}, {"offset_group", offset_group}};
  SCANLOOM_CHECK_OK(add_lists(ctx, {"dilations", "pads", "strides"}, attrs));
  SCANLOOM_TRY(const ValueId y, ctx.op(ops::deform_conv_op, std::move(operands), std::move(attrs)));
  return finish(ctx, y);
}

Expected<void> convert_col2im(NodeCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId image, ctx.in(1));
  SCANLOOM_TRY(const ValueId block, ctx.in(2));
  if (is_floating_point(ctx.type(x).dtype)) {
    SCANLOOM_TRY(x, ctx.cast(x, ops::at_least_f32(ctx.type(x).dtype)));
  }
  std::vector<ir::NamedAttr> attrs;
  SCANLOOM_CHECK_OK(add_lists(ctx, {"dilations", "pads", "strides"}, attrs));
  SCANLOOM_TRY(const ValueId y, ctx.op(ops::col2im_op, {x, image, block}, std::move(attrs)));
  return finish(ctx, y);
}

namespace {

/// Returns bytes minus their zero point in f64, in which sums of their products are exact far
/// beyond i32.
Expected<ValueId> centred(NodeCtx& ctx, ValueId x, ValueId zero) {
  SCANLOOM_TRY(const ValueId value, ctx.cast(x, DType::f64));
  if (!zero.valid()) return value;
  SCANLOOM_TRY(const ValueId offset, ctx.cast(zero, DType::f64));
  return ctx.op(ops::sub_op, {value, offset});
}

/// Returns the zero point, or 0 of the type of `bytes` if it is absent.
Expected<ValueId> zero_or_0(NodeCtx& ctx, ValueId zero, ValueId bytes) {
  if (zero.valid()) return zero;
  return ctx.scalar(0, ctx.type(bytes).dtype);
}

/// Whether qlinear_conv has a kernel for the operands: constant filters with zero points that are
/// constant, too, single or one per filter.
bool is_integer_conv(NodeCtx& ctx, ValueId x, ValueId weights) {
  const auto is_bytes = [&](ValueId value) {
    return ctx.type(value).dtype == DType::u8 || ctx.type(value).dtype == DType::i8;
  };
  const tensor::Tensor* const w_zero = ctx.constant(3);
  return is_bytes(x) && is_bytes(weights) && ctx.constant(1) != nullptr &&
         (!ctx.has(3) || (w_zero != nullptr && w_zero->shape().rank() <= 1));
}

Expected<std::vector<ir::NamedAttr>> conv_attributes(NodeCtx& ctx) {
  SCANLOOM_TRY(const char* const mode, auto_pad(ctx));
  SCANLOOM_TRY(const std::int64_t group, ctx.integer("group", 1));
  std::vector<ir::NamedAttr> attrs = {{"auto_pad", mode}, {"group", group}};
  SCANLOOM_CHECK_OK(add_lists(ctx, {"dilations", "pads", "strides"}, attrs));
  return attrs;
}

}  // namespace

// The padding is x's zero point, which becomes 0 when subtracted.
Expected<void> convert_conv_integer(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId weights, ctx.in(1));
  SCANLOOM_TRY(ValueId x_zero, ctx.optional_in(2));
  SCANLOOM_TRY(ValueId w_zero, ctx.optional_in(3));
  SCANLOOM_CHECK_OK(check_kernel_shape(ctx, weights));
  if (x_zero.valid()) {
    SCANLOOM_TRY(x_zero,
                 ctx.op(ops::reshape_op, {x_zero, ctx.integers_value({})}, {{"allowzero", 0}}));
  }
  SCANLOOM_TRY(std::vector<ir::NamedAttr> attrs, conv_attributes(ctx));
  if (is_integer_conv(ctx, x, weights)) {
    SCANLOOM_TRY(x_zero, zero_or_0(ctx, x_zero, x));
    SCANLOOM_TRY(w_zero, zero_or_0(ctx, w_zero, weights));
    return ctx.emit(ops::qlinear_conv_op,
                    {x, ValueId(), x_zero, weights, ValueId(), w_zero, ValueId(), ValueId()},
                    std::move(attrs));
  }
  // One zero point per filter, along axis 0 of w.
  if (w_zero.valid() && ctx.type(w_zero).rank() == 1 && ctx.type(weights).ranked) {
    Axes axes;
    for (int i = 1; i < ctx.type(weights).rank(); ++i) axes.push_back(i);
    SCANLOOM_TRY(w_zero, ctx.op(ops::unsqueeze_op, {w_zero}, {{"axes", std::move(axes)}}));
  }
  SCANLOOM_TRY(const ValueId a, centred(ctx, x, x_zero));
  SCANLOOM_TRY(const ValueId b, centred(ctx, weights, w_zero));
  SCANLOOM_TRY(const ValueId sum, ctx.op(ops::conv_op, {a, b, ValueId()}, std::move(attrs)));
  SCANLOOM_TRY(const ValueId y, ctx.cast(sum, DType::i32));
  ctx.set_output(0, y);
  return {};
}

}  // namespace scanloom::onnx
