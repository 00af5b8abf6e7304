// Element-wise operators of com.microsoft on bytes with one scale and zero point each, and those
// that move or average such bytes. Sums that ONNX Runtime rounds together with the zero point are
// rounded so here. Source: ONNX Runtime's docs/ContribOperators.md and its kernels for x86.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/linear_quantization.h"
#include "frontends/onnx/ops/window_attributes.h"
#include "frontends/onnx/ops/window_layout.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// A quantized operand and its parameters, at consecutive inputs.
struct QuantizedInput {
  ValueId x;
  LinearQuantization by;
};

QuantizedInput quantized_input(Composer& c, int first, DType dtype) {
  const ValueId x = c.in(first);
  if (c.ok() && c.dtype(x) != dtype)
    c.refuse(invalid_model("{} has elements of type {}, not {}", c.ctx().describe_input(first),
                           dtype_onnx_name(c.dtype(x)), dtype_onnx_name(dtype)));
  return {x, quantization_input(c, first + 1, first + 2, dtype)};
}

ValueId real_of(Composer& c, const QuantizedInput& input) {
  return dequantized(c, input.x, input.by);
}

/// x minus its zero point, in f32.
ValueId centred_input(Composer& c, const QuantizedInput& input) {
  return dequantized(c, input.x, {c.scalar(1, DType::f32), input.by.zero});
}

}  // namespace

// a * a_scale / y_scale + b * b_scale / y_scale + the zero points together.
Expected<void> convert_qlinear_add(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 0);
  const QuantizedInput a = quantized_input(c, 0, dtype), b = quantized_input(c, 3, dtype);
  const LinearQuantization y = quantization_input(c, 6, 7, dtype);
  const ValueId a_ratio = c.div(a.by.scale, y.scale), b_ratio = c.div(b.by.scale, y.scale);
  const auto wide = [&](ValueId x) { return c.cast(x, DType::f32); };
  const ValueId offset =
      c.sub(wide(y.zero), c.add(c.mul(a_ratio, wide(a.by.zero)), c.mul(b_ratio, wide(b.by.zero))));
  // As one node: a product with the ratio, without a zero point.
  const auto scaled = [&](ValueId x, ValueId ratio) {
    return dequantized(c, x, {ratio, c.scalar(0, dtype)});
  };
  const ValueId sum = c.add(c.add(offset, scaled(a.x, a_ratio)), scaled(b.x, b_ratio));
  return c.emit(rounded_to(c, sum, dtype));
}

// The product of two bytes is exact in f32.
Expected<void> convert_qlinear_mul(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 0);
  const QuantizedInput a = quantized_input(c, 0, dtype), b = quantized_input(c, 3, dtype);
  const LinearQuantization y = quantization_input(c, 6, 7, dtype);
  const ValueId ratio = c.div(c.mul(a.by.scale, b.by.scale), y.scale);
  const ValueId product = c.mul(centred_input(c, a), centred_input(c, b));
  return c.emit(rounded_to(c, c.add(c.mul(product, ratio), c.cast(y.zero, DType::f32)), dtype));
}

Expected<void> convert_mul_integer(NodeCtx& ctx) {
  Composer c(ctx);
  const auto centred = [&](int x, int zero) {
    const DType dtype = byte_type(c, x);
    const ValueId value = c.cast(c.in(x), DType::i32);
    if (!ctx.has(zero)) return value;
    const ValueId offset = scalar_input(c, zero);
    if (c.ok() && c.dtype(offset) != dtype)
      c.refuse(invalid_model("{} has elements of type {}, not {}", ctx.describe_input(zero),
                             dtype_onnx_name(c.dtype(offset)), dtype_onnx_name(dtype)));
    return c.sub(value, c.cast(offset, DType::i32));
  };
  return c.emit(c.mul(centred(0, 1), centred(2, 3)));
}

// ONNX Runtime looks the results up in a table of the 256 bytes, made by the same operations.
Expected<void> convert_qlinear_activation(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 0);
  const ValueId x = real_of(c, quantized_input(c, 0, dtype));
  const LinearQuantization y = quantization_input(c, 3, 4, dtype);
  if (ctx.op_type() == "QLinearSigmoid")
    return c.emit(requantized(c, c.op(ops::sigmoid_op, {x}), y));
  const double alpha = c.real("alpha", static_cast<double>(0.01f));
  return c.emit(requantized(c, c.op(ops::leaky_relu_op, {x}, {{"alpha", alpha}}), y));
}

// floor(1 / y_scale) * e / sum e, rounded, plus the zero point. Up to version 12 of Softmax, which
// attribute `opset` names, all axes from `axis` on are one.
Expected<void> convert_qlinear_softmax(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 0);
  SCANLOOM_TRY(const std::int64_t opset, ctx.required_integer("opset"));
  const QuantizedInput given = quantized_input(c, 0, dtype);
  const LinearQuantization y = quantization_input(c, 3, 4, dtype);
  const int rank = c.rank(0, given.x, 1);
  const int axis = c.axis("axis", opset < 13 ? 1 : -1, rank);
  ValueId x = real_of(c, given);
  const bool flat = opset < 13 && axis != rank - 1;
  if (flat) x = c.op(ops::flatten_op, {x}, {{"axis", axis}});
  const ValueId share = c.op(ops::softmax_op, {x}, {{"axis", flat ? 1 : axis}});
  const ValueId levels = c.op(ops::floor_op, {c.div(c.like(1, y.scale), y.scale)});
  const ValueId rounded = c.op(ops::round_op, {c.mul(share, levels)});
  const ValueId result = rounded_to(c, c.add(rounded, c.cast(y.zero, DType::f32)), dtype);
  return c.emit(flat ? c.reshape(result, c.shape(given.x)) : result);
}

Expected<void> convert_qlinear_where(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 1);
  const LinearQuantization z = quantization_input(c, 7, 8, dtype);
  const ValueId x = requantized(c, real_of(c, quantized_input(c, 1, dtype)), z);
  const ValueId y = requantized(c, real_of(c, quantized_input(c, 4, dtype)), z);
  return c.emit(c.where(c.in(0), x, y));
}

// The inputs are the scale and zero point of the result, then triples.
Expected<void> convert_qlinear_concat(NodeCtx& ctx) {
  Composer c(ctx);
  SCANLOOM_TRY(const std::int64_t axis, ctx.required_integer("axis"));
  if (ctx.input_count() % 3 != 2)
    return invalid_model("it has {} inputs, which are not two and then three per part",
                         ctx.input_count());
  const DType dtype = byte_type(c, 1);
  const LinearQuantization y = quantization_input(c, 0, 1, dtype);
  std::vector<ValueId> parts;
  for (int i = 2; i < ctx.input_count(); i += 3)
    parts.push_back(requantized(c, real_of(c, quantized_input(c, i, dtype)), y));
  return c.emit(c.concat(std::move(parts), axis));
}

Expected<void> convert_qlinear_reduce_mean(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 0);
  const ValueId x = real_of(c, quantized_input(c, 0, dtype));
  const LinearQuantization y = quantization_input(c, 3, 4, dtype);
  const bool keep = c.integer("keepdims", 1) != 0;
  std::vector<ir::NamedAttr> attrs = {{"kind", "mean"}, {"keepdims", keep}};
  if (auto axes = c.take(ctx.integers("axes")); !axes.empty())
    attrs.push_back({"axes", std::move(axes)});
  return c.emit(requantized(c, c.op(ops::reduce_op, {x}, std::move(attrs)), y));
}

Expected<void> convert_qlinear_average_pool(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 0);
  const QuantizedInput given = quantized_input(c, 0, dtype);
  const LinearQuantization to = quantization_input(c, 3, 4, dtype);
  const bool last = c.integer("channels_last", 0) != 0;
  const int rank = c.rank(0, given.x, 3);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const char* const mode, auto_pad(ctx));
  SCANLOOM_TRY(auto kernel, window_sizes(ctx, rank));
  std::vector<ir::NamedAttr> attrs = {
      {"auto_pad", mode},
      {"kernel", std::move(kernel)},
      {"ceil_mode", c.integer("ceil_mode", 0) != 0},
      {"count_include_pad", c.integer("count_include_pad", 0) != 0}};
  for (const char* const name : {"dilations", "pads", "strides"})
    if (auto values = c.take(ctx.integers(name)); !values.empty())
      attrs.push_back({name, std::move(values)});
  ValueId x = real_of(c, given);
  if (last) x = channels_first(c, x, rank);
  const ValueId mean = c.op(ops::average_pool_op, {x}, std::move(attrs));
  const ValueId scaled = c.add(c.div(mean, to.scale), c.cast(to.zero, DType::f32));
  const ValueId y = rounded_to(c, scaled, dtype);
  return c.emit(last ? channels_last(c, y, rank) : y);
}

// The sum of the bytes is exact, and scaled once.
Expected<void> convert_qlinear_global_average_pool(NodeCtx& ctx) {
  Composer c(ctx);
  const DType dtype = byte_type(c, 0);
  const QuantizedInput given = quantized_input(c, 0, dtype);
  const LinearQuantization to = quantization_input(c, 3, 4, dtype);
  const bool last = c.integer("channels_last", 0) != 0;
  const int rank = c.rank(0, given.x, 3);
  const Composer::Ints axes = last ? axes_between(1, rank - 1) : axes_between(2, rank);
  const ValueId sizes = last ? c.shape(given.x, 1, rank - 1) : c.shape(given.x, 2);
  const ValueId elements = c.reduce_all(sizes, "prod");
  const ValueId count = c.cast(elements, DType::f32);
  // The zero point is subtracted from whole sums, which wrap.
  const ValueId zeros = c.mul(c.cast(given.by.zero, DType::i32), c.cast(elements, DType::i32));
  const ValueId sum = c.sub(c.reduce(c.cast(given.x, DType::i32), "sum", axes), zeros);
  const ValueId scale = c.div(given.by.scale, c.mul(to.scale, count));
  const ValueId rounded = c.op(ops::round_op, {c.mul(c.cast(sum, DType::f32), scale)});
  return c.emit(rounded_to(c, c.add(rounded, c.cast(to.zero, DType::f32)), dtype));
}

}  // namespace scanloom::onnx
