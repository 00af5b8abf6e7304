// Values quantized by one scale and zero point, and their products as integers.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// A scale in f32 and a zero point in the quantized type, both with one element.
struct LinearQuantization {
  ir::ValueId scale, zero;
};

/// Returns input i as a scalar. Error: it is known to have more than one element.
ir::ValueId scalar_input(Composer& c, int i);

/// Returns the quantization given by inputs `scale` and `zero`; an absent zero point is 0 of
/// `dtype`. Error: the zero point has another type, or more than one element.
LinearQuantization quantization_input(Composer& c, int scale, int zero, DType dtype);

/// Returns the element type of input i. Error: neither u8 nor i8.
DType byte_type(Composer& c, int i);

/// (x - zero) * scale.
ir::ValueId dequantized(Composer& c, ir::ValueId x, const LinearQuantization& by);

/// round(x / scale) + zero, limited to the range of zero's type.
ir::ValueId requantized(Composer& c, ir::ValueId x, const LinearQuantization& by);

/// Rounds x, which includes the zero point, and limits it to the range of `dtype`, u8 or i8. Sums
/// that end in a half are rounded with the zero point: another result than requantized().
ir::ValueId rounded_to(Composer& c, ir::ValueId x, DType dtype);

/// Matrices of bytes, and their zero point: absent (0), one element, or one per column.
struct ByteMatrix {
  ir::ValueId x, zero;
};

/// Returns matrix input i; input `zero` may be absent, and has one element, or with `per_column`
/// one per column. Errors: the elements are not bytes, or the zero point has another type.
ByteMatrix byte_matrix(Composer& c, int i, int zero, bool per_column);

/// The matrix product of bytes minus their zero points: exact sums, in i32, to which `addend` (i32)
/// is added if it is valid.
ir::ValueId byte_sums(Composer& c, const ByteMatrix& a, const ByteMatrix& b,
                      ir::ValueId addend = {});
/// byte_sums * scale + bias, in f32; the bias may be invalid.
ir::ValueId scaled_byte_sums(Composer& c, const ByteMatrix& a, const ByteMatrix& b,
                             ir::ValueId scale, ir::ValueId bias = {});

/// The result of DynamicQuantizeLinear.
struct DynamicallyQuantized {
  ir::ValueId x, scale, zero;
};

/// Quantizes x to u8 such that 0 and the range of `range_of` fit, which is x unless x has elements
/// that do not count. If all are 0 the scale is 1, as in ONNX Runtime: the formula gives 0, by
/// which nothing can be divided.
DynamicallyQuantized dynamically_quantized(Composer& c, ir::ValueId x, ir::ValueId range_of = {});

}  // namespace scanloom::onnx
