// QuantizeLinear and DequantizeLinear. Block-wise scales are expanded to every element, and the
// arithmetic is written out.
#include <cmath>

#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// The axis along which scales and zero points vary, and after how many elements they change; 0
/// means after each one.
struct QuantizeParameters {
  std::int64_t axis = 1;  // before version 13 there is a single scale
  std::int64_t block = 0;
};

Expected<QuantizeParameters> parameters(NodeCtx& ctx) {
  QuantizeParameters result;
  SCANLOOM_TRY(result.block, ctx.integer("block_size", 0));
  if (result.block < 0)
    return invalid_model("attribute 'block_size' is {}, but must be at least 0", result.block);
  SCANLOOM_TRY(result.axis, ctx.integer("axis", 1));
  return result;
}

/// Expands block-wise scales or zero points to every element of x.
Expected<ValueId> spread_blocks(NodeCtx& ctx, ValueId x, ValueId of_blocks,
                                const QuantizeParameters& parameters) {
  SCANLOOM_TRY(const ValueId size, ctx.op(ops::dim_op, {x}, {{"axis", parameters.axis}}));
  SCANLOOM_TRY(const ValueId positions,
               ctx.op(ops::range_op, {ctx.integer_value(0), size, ctx.integer_value(1)}));
  SCANLOOM_TRY(const ValueId blocks,
               ctx.op(ops::div_op, {positions, ctx.integer_value(parameters.block)}));
  return ctx.op(ops::gather_op, {of_blocks, blocks}, {{"axis", parameters.axis}});
}

/// (x - zero) * scale, in f32.
Expected<ValueId> dequantize_blocks(NodeCtx& ctx, ValueId x, ValueId scale, ValueId zero,
                                    const QuantizeParameters& parameters) {
  SCANLOOM_TRY(ValueId factor, spread_blocks(ctx, x, scale, parameters));
  SCANLOOM_TRY(factor, ctx.cast(factor, DType::f32));
  const DType exact = is_integer(ctx.type(x).dtype) ? DType::i64 : DType::f32;
  SCANLOOM_TRY(ValueId value, ctx.cast(x, exact));
  if (zero.valid()) {
    SCANLOOM_TRY(ValueId offset, spread_blocks(ctx, x, zero, parameters));
    SCANLOOM_TRY(offset, ctx.cast(offset, exact));
    SCANLOOM_TRY(value, ctx.op(ops::sub_op, {value, offset}));
  }
  SCANLOOM_TRY(value, ctx.cast(value, DType::f32));
  SCANLOOM_TRY(value, ctx.op(ops::mul_op, {value, factor}));
  return ctx.cast(value, ctx.type(scale).dtype);
}

/// round(x / scale) + zero, clamped to the range of the type. Sums of integers are exact in f64, so
/// only the division and the rounding lose precision.
Expected<ValueId> quantize_blocks(NodeCtx& ctx, ValueId x, ValueId scale, ValueId zero,
                                  const QuantizeParameters& parameters) {
  const DType to = zero.valid() ? ctx.type(zero).dtype : DType::u8;
  SCANLOOM_TRY(ValueId divisor, spread_blocks(ctx, x, scale, parameters));
  SCANLOOM_TRY(divisor, ctx.cast(divisor, DType::f32));
  SCANLOOM_TRY(ValueId value, ctx.cast(x, DType::f32));
  SCANLOOM_TRY(value, ctx.op(ops::div_op, {value, divisor}));
  if (!is_integer(to)) return ctx.cast(value, to);
  SCANLOOM_TRY(value, ctx.cast(value, DType::f64));
  SCANLOOM_TRY(value, ctx.op(ops::round_op, {value}));
  if (zero.valid()) {
    SCANLOOM_TRY(ValueId offset, spread_blocks(ctx, x, zero, parameters));
    SCANLOOM_TRY(offset, ctx.cast(offset, DType::f64));
    SCANLOOM_TRY(value, ctx.op(ops::add_op, {value, offset}));
  }
  const bool is_signed = dtype_kind(to) == DTypeKind::signed_int;
  const int bits = dtype_file_bits(to) - (is_signed ? 1 : 0);
  SCANLOOM_TRY(const ValueId low, ctx.scalar(is_signed ? -std::ldexp(1, bits) : 0, DType::f64));
  SCANLOOM_TRY(const ValueId high, ctx.scalar(std::ldexp(1, bits) - 1, DType::f64));
  SCANLOOM_TRY(value, ctx.op(ops::clip_op, {value, low, high}));
  return ctx.cast(value, to);
}

/// Returns the element type given by attribute output_dtype; nullopt if none is.
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
  SCANLOOM_TRY(const QuantizeParameters given, parameters(ctx));
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
  if (saturate == 0 && zero.valid() && is_floating_point(ctx.type(zero).dtype))
    return fail(Code::unsupported, "quantising to {} without saturation",
                dtype_onnx_name(ctx.type(zero).dtype));
  if (given.block == 0)
    return ctx.emit(ops::quantize_linear_op, {x, scale, zero}, {{"axis", given.axis}});
  SCANLOOM_TRY(const ValueId y, quantize_blocks(ctx, x, scale, zero, given));
  ctx.set_output(0, y);
  return {};
}

Expected<void> convert_dequantize_linear(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId scale, ctx.in(1));
  SCANLOOM_TRY(const ValueId zero, ctx.optional_in(2));
  SCANLOOM_TRY(const QuantizeParameters given, parameters(ctx));
  SCANLOOM_TRY(const auto wanted, output_dtype(ctx));
  ValueId y;
  if (given.block == 0) {
    SCANLOOM_TRY(y, ctx.op(ops::dequantize_linear_op, {x, scale, zero}, {{"axis", given.axis}}));
  } else {
    SCANLOOM_TRY(y, dequantize_blocks(ctx, x, scale, zero, given));
  }
  if (wanted) {
    SCANLOOM_TRY(y, ctx.cast(y, *wanted));
  }
  ctx.set_output(0, y);
  return {};
}

}  // namespace scanloom::onnx
