// DynamicQuantizeLinear, MatMulInteger and QLinearMatMul, composed of products and arithmetic.
#include <array>
#include <optional>

#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/linear_quantization.h"
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

namespace {

/// Whether integer_matmul takes the operands: matrices of bytes, one zero point for a, and one for
/// b or one per column. `inputs`: where a, its zero point, b and its zero point are.
bool is_integer_matmul(NodeCtx& ctx, const std::array<int, 4>& inputs) {
  // By value: reading an operand may add a constant, which moves the types of values.
  const auto type_of = [&](int i) {
    return ctx.has(i) ? std::optional(ctx.type(*ctx.in(i))) : std::nullopt;
  };
  const auto is_matrix = [&](int i) {
    const auto type = type_of(i);
    const bool is_bytes = type && (type->dtype == DType::u8 || type->dtype == DType::i8);
    return is_bytes && type->ranked && type->rank() >= 2;
  };
  const auto is_single = [](const std::optional<tensor::Type>& type) {
    if (!type) return true;
    return type->ranked &&
           (type->rank() == 0 || (type->rank() == 1 && type->dims[0] == tensor::Dim(1)));
  };
  const auto b_zero = type_of(inputs[3]);
  const bool per_column = b_zero && b_zero->ranked && b_zero->rank() == 1;
  return is_matrix(inputs[0]) && is_matrix(inputs[2]) && is_single(type_of(inputs[1])) &&
         (is_single(b_zero) || per_column);
}

}  // namespace

Expected<void> convert_matmul_integer(NodeCtx& ctx) {
  if (is_integer_matmul(ctx, {0, 2, 1, 3})) {
    std::vector<ValueId> inputs(4);
    for (int i = 0; i < 4; ++i) {
      SCANLOOM_TRY(inputs[static_cast<std::size_t>(i)], ctx.optional_in(i));
    }
    return ctx.emit(ops::integer_matmul_op, std::move(inputs));
  }
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

namespace {

/// Whether the scales are those that integer_matmul takes: one for a and for y, and one for b or
/// one per column.
bool has_column_scales(NodeCtx& ctx) {
  const auto elements_of = [&](int i) -> std::optional<std::int64_t> {
    const tensor::Type& type = ctx.type(*ctx.in(i));
    if (!type.ranked || type.rank() > 1) return std::nullopt;
    if (type.rank() == 0) return 1;
    return type.dims[0].is_constant() ? type.dims[0].value() : -1;
  };
  return elements_of(1) == 1 && elements_of(6) == 1 && elements_of(7) == 1 &&
         elements_of(4).has_value();
}

/// Bytes: round(f32(sum) * (a_scale * b_scale / y_scale)) + y_zero, as in ONNX Runtime.
Expected<void> emit_qlinear_matmul(NodeCtx& ctx) {
  std::array<ValueId, 8> in;
  for (int i = 0; i < 8; ++i) {
    SCANLOOM_TRY(in[static_cast<std::size_t>(i)], ctx.in(i));
  }
  for (const std::size_t i : {1, 4, 6}) {
    SCANLOOM_TRY(in[i], ctx.cast(in[i], DType::f32));
  }
  for (const std::size_t i : {1, 6}) {
    SCANLOOM_TRY(in[i], aligned(ctx, in[i], false));
  }
  SCANLOOM_TRY(ValueId scale, ctx.op(ops::mul_op, {in[1], in[4]}));
  SCANLOOM_TRY(scale, ctx.op(ops::div_op, {scale, in[6]}));
  return ctx.emit(ops::integer_matmul_op, {in[0], in[3], in[2], in[5], scale, ValueId(), in[7]});
}

}  // namespace

// Bytes are multiplied as integers, 8-bit floats in f32; scales are applied in f32.
Expected<void> convert_qlinear_matmul(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId given, ctx.in(0));
  const DType dtype = ctx.type(given).dtype;
  if (dtype != DType::u8 && dtype != DType::i8 && !is_floating_point(dtype))
    return invalid_model("{} has elements of type {}", ctx.describe_input(0),
                         dtype_onnx_name(dtype));
  for (const int i : {1, 2, 3, 4, 5, 6, 7}) SCANLOOM_CHECK_OK(ctx.in(i));
  const DType result = ctx.type(*ctx.in(7)).dtype;
  if (is_integer_matmul(ctx, {0, 2, 3, 5}) && has_column_scales(ctx) &&
      (result == DType::u8 || result == DType::i8))
    return emit_qlinear_matmul(ctx);
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

Expected<void> convert_dynamic_quantize_linear(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  if (c.ok() && c.dtype(x) != DType::f32)
    return invalid_model("{} has elements of type {}, not float", ctx.describe_input(0),
                         dtype_onnx_name(c.dtype(x)));
  const DynamicallyQuantized q = dynamically_quantized(c, x);
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, q.x);
  ctx.set_output(1, q.scale);
  ctx.set_output(2, q.zero);
  return {};
}

}  // namespace scanloom::onnx
