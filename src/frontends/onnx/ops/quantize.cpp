// QuantizeLinear and DequantizeLinear.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

Expected<std::int64_t> quantized_axis(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::int64_t block, ctx.integer("block_size", 0));
  if (block != 0) return fail(Code::unsupported, "blocks of {} elements", block);
  // Before version 13 there is one scale for all.
  return ctx.integer("axis", 1);
}

/// The element type that attribute output_dtype asks for; nullopt: none.
Expected<std::optional<DType>> output_dtype(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::int64_t number, ctx.integer("output_dtype", 0));
  if (number == 0) return std::optional<DType>();
  Expected<DType> dtype = dtype_of_number(number);
  if (!dtype) return std::move(dtype).error().at("attribute 'output_dtype'");
  return std::optional<DType>(*dtype);
}

}  // namespace

Expected<void> convert_quantize_linear(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId scale, ctx.in(1));
  SCANLOOM_TRY(ValueId zero, ctx.optional_in(2));
  SCANLOOM_TRY(const std::int64_t axis, quantized_axis(ctx));
  SCANLOOM_TRY(const auto wanted, output_dtype(ctx));
  SCANLOOM_TRY(const std::int64_t saturate, ctx.integer("saturate", 1));
  ctx.ignore("precision");
  if (zero.valid() && wanted && ctx.type(zero).dtype != *wanted)
    return invalid_model("attribute 'output_dtype' is {}, {} is {}", dtype_onnx_name(*wanted),
                         ctx.describe_input(2), dtype_onnx_name(ctx.type(zero).dtype));
  if (!zero.valid() && wanted) {
    SCANLOOM_TRY(zero, ctx.scalar(0, *wanted));
    SCANLOOM_TRY(const ValueId shape, ctx.op(ops::shape_op, {scale}, {{"start", 0}}));
    SCANLOOM_TRY(zero, ctx.op(ops::expand_op, {zero, shape}));
  }
  if (saturate == 0 && zero.valid() && is_real(ctx.type(zero).dtype))
    return fail(Code::unsupported, "quantising to {} without saturation",
                dtype_onnx_name(ctx.type(zero).dtype));
  return ctx.emit(ops::quantize_linear_op, {x, scale, zero}, {{"axis", axis}});
}

Expected<void> convert_dequantize_linear(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId scale, ctx.in(1));
  SCANLOOM_TRY(const ValueId zero, ctx.optional_in(2));
  SCANLOOM_TRY(const std::int64_t axis, quantized_axis(ctx));
  SCANLOOM_TRY(const auto wanted, output_dtype(ctx));
  SCANLOOM_TRY(ValueId y, ctx.op(ops::dequantize_linear_op, {x, scale, zero}, {{"axis", axis}}));
  if (wanted) {
    SCANLOOM_TRY(y, ctx.cast(y, *wanted));
  }
  ctx.set_output(0, y);
  return {};
}

}  // namespace scanloom::onnx
