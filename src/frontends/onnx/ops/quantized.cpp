// DynamicQuantizeLinear, MatMulInteger and QLinearMatMul, composed of products and arithmetic.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Reshapes a scale or zero point per row (of a) or column (of b) to broadcast against a matrix
/// product. Single ones, and those with as many axes as the operand, already do.
Expected<ValueId> aligned(NodeCtx& ctx, ValueId parameter, bool per_row) {
  const tensor::Type& type = ctx.type(parameter);
  if (!type.ranked || type.rank() != 1) return parameter;
  if (type.dims[0] == tensor::Dim(1))
    return ctx.op(ops::reshape_op, {parameter, ctx.integers_value({})}, {{"allowzero", 0}});
  if (!per_row) return parameter;
  return ctx.op(ops::unsqueeze_op, {parameter}, {{"axes", std::vector<std::int64_t>{1}}});
}

/// Returns the matrix minus its zero point, in `dtype`. Input `zero` may be absent.
Expected<ValueId> centred(NodeCtx& ctx, int matrix, int zero, bool per_row, DType dtype) {
  SCANLOOM_TRY(const ValueId given, ctx.in(matrix));
  SCANLOOM_TRY(const ValueId value, ctx.cast(given, dtype));
  SCANLOOM_TRY(ValueId offset, ctx.optional_in(zero));
  if (!offset.valid()) return value;
  SCANLOOM_TRY(offset, ctx.cast(offset, dtype));
  // A vector has only one parameter, on either side.
  const bool is_vector = ctx.type(given).ranked && ctx.type(given).rank() == 1;
  SCANLOOM_TRY(offset, aligned(ctx, offset, per_row && !is_vector));
  return ctx.op(ops::sub_op, {value, offset});
}

}  // namespace

Expected<void> convert_matmul_integer(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId a, centred(ctx, 0, 2, true, DType::i32));
  SCANLOOM_TRY(const ValueId b, centred(ctx, 1, 3, false, DType::i32));
  return ctx.emit(ops::contract_op, {a, b}, {{"spec", ""}});
}

namespace {

/// round(x / scale) + zero, clamped to the range of zero's type. A cast to 8-bit floats clamps by
/// itself.
Expected<ValueId> quantized(NodeCtx& ctx, ValueId x, ValueId scale, ValueId zero) {
  const DType dtype = ctx.type(zero).dtype;
  SCANLOOM_TRY(ValueId y, ctx.op(ops::div_op, {x, scale}));
  if (!is_integer(dtype)) return ctx.cast(y, dtype);
  SCANLOOM_TRY(const ValueId offset, ctx.cast(zero, DType::f32));
  SCANLOOM_TRY(y, ctx.op(ops::round_op, {y}));
  SCANLOOM_TRY(y, ctx.op(ops::add_op, {y, offset}));
  SCANLOOM_TRY(const ValueId least, ctx.scalar(dtype == DType::u8 ? 0 : -128, DType::f32));
  SCANLOOM_TRY(const ValueId greatest, ctx.scalar(dtype == DType::u8 ? 255 : 127, DType::f32));
  SCANLOOM_TRY(y, ctx.op(ops::max_op, {y, least}));
  SCANLOOM_TRY(y, ctx.op(ops::min_op, {y, greatest}));
  return ctx.cast(y, dtype);
}

/// Returns input i as f32, aligned with the rows or columns of the product.
Expected<ValueId> scale_in(NodeCtx& ctx, int i, bool per_row) {
  SCANLOOM_TRY(ValueId scale, ctx.in(i));
  SCANLOOM_TRY(scale, ctx.cast(scale, DType::f32));
  return aligned(ctx, scale, per_row);
}

}  // namespace

// Bytes are multiplied as integers, 8-bit floats in f32; scales are applied in f32.
Expected<void> convert_qlinear_matmul(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId given, ctx.in(0));
  const DType dtype = ctx.type(given).dtype;
  if (dtype != DType::u8 && dtype != DType::i8 && !is_floating_point(dtype))
    return invalid_model("{} has elements of type {}", ctx.describe_input(0),
                         dtype_onnx_name(dtype));
  const DType computed = is_integer(dtype) ? DType::i32 : DType::f32;
  SCANLOOM_TRY(const ValueId a, centred(ctx, 0, 2, true, computed));
  SCANLOOM_TRY(const ValueId b, centred(ctx, 3, 5, false, computed));
  SCANLOOM_TRY(ValueId product, ctx.op(ops::contract_op, {a, b}, {{"spec", ""}}));
  SCANLOOM_TRY(product, ctx.cast(product, DType::f32));
  SCANLOOM_TRY(const ValueId a_scale, scale_in(ctx, 1, true));
  SCANLOOM_TRY(const ValueId b_scale, scale_in(ctx, 4, false));
  SCANLOOM_TRY(const ValueId y_scale, scale_in(ctx, 6, true));
  SCANLOOM_TRY(ValueId y_zero, ctx.in(7));
  SCANLOOM_TRY(y_zero, aligned(ctx, y_zero, true));
  SCANLOOM_TRY(const ValueId scale, ctx.op(ops::mul_op, {a_scale, b_scale}));
  SCANLOOM_TRY(const ValueId real, ctx.op(ops::mul_op, {product, scale}));
  SCANLOOM_TRY(const ValueId y, quantized(ctx, real, y_scale, y_zero));
  ctx.set_output(0, y);
  return {};
}

// If x is all zeros, the scale is 1, as in ONNX Runtime: the formula gives 0, by which nothing can
// be divided.
Expected<void> convert_dynamic_quantize_linear(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (ctx.type(x).dtype != DType::f32)
    return invalid_model("{} has elements of type {}, not float", ctx.describe_input(0),
                         dtype_onnx_name(ctx.type(x).dtype));
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, DType::f32));
  SCANLOOM_TRY(const ValueId one, ctx.scalar(1, DType::f32));
  SCANLOOM_TRY(const ValueId levels, ctx.scalar(255, DType::f32));
  SCANLOOM_TRY(ValueId high, ctx.op(ops::reduce_op, {x}, {{"kind", "max"}, {"keepdims", 0}}));
  SCANLOOM_TRY(high, ctx.op(ops::max_op, {high, zero}));
  SCANLOOM_TRY(ValueId low, ctx.op(ops::reduce_op, {x}, {{"kind", "min"}, {"keepdims", 0}}));
  SCANLOOM_TRY(low, ctx.op(ops::min_op, {low, zero}));
  SCANLOOM_TRY(const ValueId range, ctx.op(ops::sub_op, {high, low}));
  SCANLOOM_TRY(ValueId scale, ctx.op(ops::div_op, {range, levels}));
  SCANLOOM_TRY(const ValueId is_zero, ctx.op(ops::equal_op, {scale, zero}));
  SCANLOOM_TRY(scale, ctx.op(ops::where_op, {is_zero, one, scale}));
  SCANLOOM_TRY(ValueId offset, ctx.op(ops::div_op, {low, scale}));
  SCANLOOM_TRY(offset, ctx.op(ops::sub_op, {zero, offset}));
  SCANLOOM_TRY(offset, ctx.op(ops::min_op, {offset, levels}));
  SCANLOOM_TRY(offset, ctx.op(ops::round_op, {offset}));
  SCANLOOM_TRY(const ValueId zero_point, ctx.cast(offset, DType::u8));
  SCANLOOM_TRY(const ValueId y, quantized(ctx, x, scale, zero_point));
  ctx.set_output(0, y);
  ctx.set_output(1, scale);
  ctx.set_output(2, zero_point);
  return {};
}

}  // namespace scanloom::onnx
