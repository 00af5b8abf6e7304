// Element-wise operators of com.microsoft: Gelu and its variants with a bias, gates, BiasSoftmax
// and dropout with a bias. f16 and bf16 are computed in f32 and rounded once, except where the
// definition rounds in between. Source: ONNX Runtime's docs/ContribOperators.md.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Returns input i in the type used for computing; an invalid id if it is absent.
ValueId wide_operand(Composer& c, int i) {
  const ValueId x = c.optional_in(i);
  return x.valid() ? c.cast(x, at_least_f32(c.dtype(x))) : x;
}

/// Returns the sum of input 0 and, if it is present, input 1.
ValueId biased(Composer& c) {
  c.in(0);
  const ValueId x = wide_operand(c, 0), bias = wide_operand(c, 1);
  return bias.valid() ? c.add(x, bias) : x;
}

/// Sets output 0 to the value in the type of input 0.
Expected<void> emit_narrow(Composer& c, ValueId y) {
  const ValueId given = c.in(0);
  return c.emit(c.cast(y, c.dtype(given)));
}

}  // namespace

Expected<void> convert_bias_gelu(NodeCtx& ctx) {
  Composer c(ctx);
  c.in(1);
  return emit_narrow(c, c.gelu(biased(c), false));
}

Expected<void> convert_fast_gelu(NodeCtx& ctx) {
  Composer c(ctx);
  return emit_narrow(c, c.gelu(biased(c), true));
}

// x * sigmoid(alpha * x).
Expected<void> convert_quick_gelu(NodeCtx& ctx) {
  Composer c(ctx);
  const double alpha = c.real("alpha", static_cast<double>(1.702f));
  c.in(0);
  const ValueId x = wide_operand(c, 0);
  const ValueId gate = c.op(ops::sigmoid_op, {c.mul(x, c.like(alpha, x))});
  return emit_narrow(c, c.mul(x, gate));
}

// z = scale * x, y = z * sigmoid(z), where z and the gate are rounded to the type of x.
Expected<void> convert_scaled_silu(NodeCtx& ctx) {
  Composer c(ctx);
  const double alpha = c.real("alpha", 1);
  const ValueId x = c.in(0), given = wide_operand(c, 1);
  const ValueId scale =
      given.valid() ? c.reshape(given, c.list({})) : c.scalar(alpha, at_least_f32(c.dtype(x)));
  const ValueId scaled = c.cast(c.mul(wide_operand(c, 0), scale), c.dtype(x));
  return c.emit(c.mul(scaled, c.op(ops::sigmoid_op, {scaled})));
}

// The left part of x + bias times gelu of the right part.
Expected<void> convert_bias_split_gelu(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId given = c.in(0);
  c.in(1);
  const int rank = c.rank(0, given, 1);
  const ValueId sum = biased(c), size = c.dim(given, rank - 1);
  if (const std::int64_t known = c.known_size(given, rank - 1); known > 0 && known % 2 != 0)
    c.refuse(invalid_model("{} has {} elements on its last axis, which must be even",
                           ctx.describe_input(0), known));
  const ValueId half = c.div(size, c.number(2));
  const ValueId left = c.slice(sum, -1, c.number(0), half);
  return emit_narrow(c, c.mul(left, c.gelu(c.slice(sum, -1, half, size), false)));
}

Expected<void> convert_bias_add(NodeCtx& ctx) {
  Composer c(ctx);
  c.in(1);
  c.in(2);
  return emit_narrow(c, c.add(biased(c), wide_operand(c, 2)));
}

// x + y * gate, where the product is rounded.
Expected<void> convert_gated_add(NodeCtx& ctx) {
  Composer c(ctx);
  return c.emit(c.add(c.in(0), c.mul(c.in(1), c.in(2))));
}

// The bias has the axes of the data, or those after its first ones, and is broadcast as in numpy.
// All axes from `axis` on are treated as one. Attribute is_inner_broadcast repeats which axes of
// the bias have size 1.
Expected<void> convert_bias_softmax(NodeCtx& ctx) {
  Composer c(ctx);
  ctx.ignore("is_inner_broadcast");
  const ValueId given = c.in(0);
  c.in(1);
  const int rank = c.rank(0, given, 1), axis = c.axis("axis", 1, rank);
  const ValueId sum = biased(c);
  if (axis == rank - 1) return emit_narrow(c, c.op(ops::softmax_op, {sum}, {{"axis", -1}}));
  const ValueId flat = c.op(ops::flatten_op, {sum}, {{"axis", axis}});
  const ValueId y = c.op(ops::softmax_op, {flat}, {{"axis", 1}});
  return emit_narrow(c, c.reshape(y, c.shape(given)));
}

namespace {

/// Errors if elements would be dropped: operand training_mode is not known to be false, unless the
/// ratio is known to be 0.
void check_drops_none(Composer& c, int ratio, int training) {
  NodeCtx& ctx = c.ctx();
  ctx.ignore("seed");
  if (!ctx.has(training)) return;
  const auto known = [&](int i) -> std::optional<std::int64_t> {
    const tensor::Tensor* const value = ctx.constant(i);
    const auto list = value == nullptr ? std::nullopt : tensor::to_integers(*value);
    return list && list->size() == 1 ? std::optional(list->front()) : std::nullopt;
  };
  if (known(training) == 0 || known(ratio) == 0) return;
  c.refuse(fail(Code::unsupported, "{} must be the constant false", ctx.describe_input(training)));
}

/// Sets output 1, of which all elements are kept: as bool, or as bits in words of 32.
void keep_all(Composer& c, ValueId x, bool packed) {
  if (!c.ctx().wants(1)) return;
  ValueId shape = c.shape(x);
  tensor::Tensor kept = tensor::Tensor::scalar<bool>(true);
  if (packed) {
    const ValueId bits = c.add(c.op(ops::size_op, {x}), c.number(31));
    shape = c.join({c.div(bits, c.number(32))});
    kept = tensor::Tensor::scalar<std::uint32_t>(~std::uint32_t{0});
  }
  const ValueId mask = c.op(ops::constant_of_shape_op, {shape}, {{"value", std::move(kept)}});
  if (c.ok()) c.ctx().set_output(1, mask);
}

}  // namespace

// As in inference, nothing is dropped.
Expected<void> convert_bitmask_dropout(NodeCtx& ctx) {
  Composer c(ctx);
  check_drops_none(c, 1, 2);
  const ValueId x = c.in(0);
  keep_all(c, x, true);
  if (c.ok()) ctx.alias_output(0);
  return c.done();
}

// x + bias + residual; nothing is dropped.
Expected<void> convert_bias_dropout(NodeCtx& ctx) {
  Composer c(ctx);
  check_drops_none(c, 3, 4);
  const ValueId x = c.in(0);
  c.in(1);
  keep_all(c, x, ctx.op_type() == "BitmaskBiasDropout");
  const ValueId sum = biased(c), residual = wide_operand(c, 2);
  return emit_narrow(c, residual.valid() ? c.add(sum, residual) : sum);
}

}  // namespace scanloom::onnx
