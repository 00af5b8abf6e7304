// Products of com.microsoft with quantized operands: of bytes, summed exactly as integers and
// scaled once, and MatMulInteger16. Source: ONNX Runtime's docs/ContribOperators.md.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/linear_quantization.h"
#include "frontends/onnx/ops/window_attributes.h"
#include "frontends/onnx/ops/window_layout.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Input i in f32; invalid if it is absent.
ValueId optional_real(Composer& c, int i) {
  const ValueId x = c.optional_in(i);
  return x.valid() ? c.cast(x, DType::f32) : x;
}

}  // namespace

Expected<void> convert_dynamic_quantize_matmul(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId given = c.in(0);
  if (c.ok() && c.dtype(given) != DType::f32)
    return invalid_model("{} has elements of type {}, not float", ctx.describe_input(0),
                         dtype_onnx_name(c.dtype(given)));
  const DynamicallyQuantized a = dynamically_quantized(c, given);
  const ByteMatrix b = byte_matrix(c, 1, 3, true);
  const ValueId scale = c.mul(a.scale, c.cast(c.in(2), DType::f32));
  return c.emit(scaled_byte_sums(c, {a.x, a.zero}, b, scale, optional_real(c, 4)));
}

Expected<void> convert_matmul_integer_to_float(NodeCtx& ctx) {
  Composer c(ctx);
  const ByteMatrix a = byte_matrix(c, 0, 4, false), b = byte_matrix(c, 1, 5, true);
  const ValueId a_scale = scalar_input(c, 2);
  const ValueId scale = c.mul(c.cast(a_scale, DType::f32), c.cast(c.in(3), DType::f32));
  const ValueId y = scaled_byte_sums(c, a, b, scale, optional_real(c, 6));
  return c.emit(c.cast(y, c.dtype(a_scale)));
}

// Sums wrap modulo 2^32.
Expected<void> convert_matmul_integer_16(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId a = c.in(0), b = c.in(1);
  const auto fits = [](DType dtype) { return dtype == DType::i16 || dtype == DType::u16; };
  for (const int i : {0, 1})
    if (const DType dtype = c.dtype(i == 0 ? a : b); c.ok() && !fits(dtype))
      return invalid_model("{} has elements of type {}, not int16 or uint16", ctx.describe_input(i),
                           dtype_onnx_name(dtype));
  const bool is_unsigned = c.dtype(a) == DType::u16 && c.dtype(b) == DType::u16;
  const DType wide = is_unsigned ? DType::u32 : DType::i32;
  return c.emit(c.contract(c.cast(a, wide), c.cast(b, wide), ""));
}

namespace {

ByteMatrix transposed_if(Composer& c, bool transposes, const ByteMatrix& matrix) {
  if (!transposes) return matrix;
  return {c.op(ops::transpose_op, {matrix.x}, {{"perm", Composer::Ints{1, 0}}}), matrix.zero};
}

}  // namespace

// alpha * a . b + c, where c is in units of alpha * a_scale * b_scale. With a zero point of y the
// result is quantized. The parameters per column of b are per row of a transposed one.
Expected<void> convert_qgemm(NodeCtx& ctx) {
  Composer c(ctx);
  const ByteMatrix a = transposed_if(c, c.integer("transA", 0) != 0, byte_matrix(c, 0, 2, false));
  const ByteMatrix b = transposed_if(c, c.integer("transB", 0) != 0, byte_matrix(c, 3, 5, true));
  ValueId scale = c.mul(c.scalar(c.real("alpha", 1), DType::f32), scalar_input(c, 1));
  scale = c.mul(scale, c.in(4));
  if (ctx.has(7)) scale = c.div(scale, scalar_input(c, 7));
  const ValueId sums = byte_sums(c, a, b, c.optional_in(6));
  const ValueId y = c.mul(c.cast(sums, DType::f32), scale);
  if (!ctx.has(8)) return c.emit(y);
  // Quantized by a scale of 1: the real one is part of `scale`.
  byte_type(c, 8);
  return c.emit(requantized(c, y, {c.scalar(1, DType::f32), scalar_input(c, 8)}));
}

// QLinearConv, where attribute channels_last moves the channels of x and of the result to the end.
Expected<void> convert_microsoft_qlinear_conv(NodeCtx& ctx) {
  Composer c(ctx);
  std::vector<ValueId> operands;
  for (int i = 0; i < 9; ++i) operands.push_back(i < 8 ? c.in(i) : c.optional_in(i));
  const bool last = c.integer("channels_last", 0) != 0;
  const int rank = last ? c.rank(0, operands[0], 3) : 0;
  if (last) operands[0] = channels_first(c, operands[0], rank);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_CHECK_OK(check_kernel_shape(ctx, operands[3]));
  SCANLOOM_TRY(const char* const mode, auto_pad(ctx));
  std::vector<ir::NamedAttr> attrs = {{"auto_pad", mode}, {"group", c.integer("group", 1)}};
  for (const char* const name : {"dilations", "pads", "strides"})
    if (auto values = c.take(ctx.integers(name)); !values.empty())
      attrs.push_back({name, std::move(values)});
  const ValueId y = c.op(ops::qlinear_conv_op, std::move(operands), std::move(attrs));
  return c.emit(last ? channels_last(c, y, rank) : y);
}

}  // namespace scanloom::onnx
