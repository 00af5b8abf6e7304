#include "frontends/onnx/ops/linear_quantization.h"

#include "frontends/onnx/types.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

bool is_byte(DType dtype) { return dtype == DType::u8 || dtype == DType::i8; }

}  // namespace

ValueId scalar_input(Composer& c, int i) {
  const ValueId x = c.in(i);
  if (!c.ok()) return {};
  const tensor::Type& type = c.ctx().type(x);
  if (Expected<void> one = check_one_element(c.ctx().describe_input(i), type); !one)
    c.refuse(std::move(one).error());
  if (type.ranked && type.rank() == 0) return x;
  return c.reshape(x, c.list({}));
}

LinearQuantization quantization_input(Composer& c, int scale, int zero, DType dtype) {
  LinearQuantization q;
  q.scale = c.cast(scalar_input(c, scale), DType::f32);
  if (!c.ctx().has(zero)) {
    q.zero = c.scalar(0, dtype);
    return q;
  }
  q.zero = scalar_input(c, zero);
  if (c.ok() && c.dtype(q.zero) != dtype)
    c.refuse(invalid_model("{} has elements of type {}, not {}", c.ctx().describe_input(zero),
                           dtype_onnx_name(c.dtype(q.zero)), dtype_onnx_name(dtype)));
  return q;
}

DType byte_type(Composer& c, int i) {
  const DType dtype = c.dtype(c.in(i));
  if (c.ok() && !is_byte(dtype))
    c.refuse(invalid_model("{} has elements of type {}, not uint8 or int8",
                           c.ctx().describe_input(i), dtype_onnx_name(dtype)));
  return is_byte(dtype) ? dtype : DType::u8;
}

ValueId dequantized(Composer& c, ValueId x, const LinearQuantization& by) {
  return c.op(ops::dequantize_linear_op, {x, by.scale, by.zero}, {{"axis", 0}});
}

ValueId requantized(Composer& c, ValueId x, const LinearQuantization& by) {
  return c.op(ops::quantize_linear_op, {x, by.scale, by.zero}, {{"axis", 0}});
}

ValueId rounded_to(Composer& c, ValueId x, DType dtype) {
  return requantized(c, x, {c.scalar(1, DType::f32), c.scalar(0, dtype)});
}

ByteMatrix byte_matrix(Composer& c, int i, int zero, bool per_column) {
  const DType dtype = byte_type(c, i);
  ByteMatrix matrix{c.in(i), {}};
  if (!c.ctx().has(zero)) return matrix;
  matrix.zero = per_column ? c.in(zero) : scalar_input(c, zero);
  if (c.ok() && c.dtype(matrix.zero) != dtype)
    c.refuse(invalid_model("{} has elements of type {}, not {}", c.ctx().describe_input(zero),
                           dtype_onnx_name(c.dtype(matrix.zero)), dtype_onnx_name(dtype)));
  return matrix;
}

namespace {

bool is_byte_matrix(const tensor::Type& type) { return type.ranked && type.rank() >= 2; }

bool is_single_zero(Composer& c, ValueId x) {
  if (!x.valid()) return true;
  const tensor::Type& type = c.builder().module().value(x).type;
  return type.ranked && (type.rank() == 0 || (type.rank() == 1 && type.dims[0] == tensor::Dim(1)));
}

/// Whether the parameter is single or has one element per column, as far as is known.
bool fits_columns(Composer& c, ValueId x) {
  if (!x.valid()) return true;
  const tensor::Type& type = c.builder().module().value(x).type;
  return type.ranked && type.rank() <= 1;
}

/// Whether integer_matmul takes the operands.
bool fits_integer_matmul(Composer& c, const ByteMatrix& a, const ByteMatrix& b) {
  return is_byte_matrix(c.builder().module().value(a.x).type) &&
         is_byte_matrix(c.builder().module().value(b.x).type) && is_single_zero(c, a.zero) &&
         fits_columns(c, b.zero);
}

ValueId centred_bytes(Composer& c, const ByteMatrix& matrix) {
  const ValueId x = c.cast(matrix.x, DType::i32);
  return matrix.zero.valid() ? c.sub(x, c.cast(matrix.zero, DType::i32)) : x;
}

}  // namespace

ValueId byte_sums(Composer& c, const ByteMatrix& a, const ByteMatrix& b, ValueId addend) {
  if (!c.ok()) return {};
  ValueId sums;
  if (!fits_integer_matmul(c, a, b))
    sums = c.contract(centred_bytes(c, a), centred_bytes(c, b), "");
  else if (fits_columns(c, addend))
    return c.op(ops::integer_matmul_op, {a.x, b.x, a.zero, b.zero, {}, addend});
  else
    sums = c.op(ops::integer_matmul_op, {a.x, b.x, a.zero, b.zero});
  return addend.valid() ? c.add(sums, addend) : sums;
}

ValueId scaled_byte_sums(Composer& c, const ByteMatrix& a, const ByteMatrix& b, ValueId scale,
                         ValueId bias) {
  if (!c.ok()) return {};
  if (fits_integer_matmul(c, a, b) && fits_columns(c, scale) && fits_columns(c, bias))
    return c.op(ops::integer_matmul_op, {a.x, b.x, a.zero, b.zero, scale, bias});
  const ValueId y = c.mul(c.cast(byte_sums(c, a, b), DType::f32), scale);
  return bias.valid() ? c.add(y, bias) : y;
}

DynamicallyQuantized dynamically_quantized(Composer& c, ValueId x, ValueId range_of) {
  const ValueId all = range_of.valid() ? range_of : x;
  const ValueId none = c.scalar(0, DType::f32), levels = c.scalar(255, DType::f32);
  const ValueId high = c.max(c.reduce_all(all, "max"), none);
  const ValueId low = c.min(c.reduce_all(all, "min"), none);
  const ValueId step = c.div(c.sub(high, low), levels);
  DynamicallyQuantized q;
  q.scale = c.where(c.equal(step, none), c.scalar(1, DType::f32), step);
  const ValueId offset = c.op(ops::round_op, {c.min(c.sub(none, c.div(low, q.scale)), levels)});
  q.zero = c.cast(offset, DType::u8);
  q.x = c.op(ops::quantize_linear_op, {x, q.scale, q.zero}, {{"axis", 0}});
  return q;
}

}  // namespace scanloom::onnx
