// Activations that have parameters or are composed of other operators.

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_elu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double alpha, ctx.real("alpha", 1));
  return ctx.emit(ops::elu_op, {x}, {{"alpha", alpha}});
}

Expected<void> convert_leaky_relu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double alpha, ctx.real("alpha", static_cast<double>(0.01f)));
  return ctx.emit(ops::leaky_relu_op, {x}, {{"alpha", alpha}});
}

Expected<void> convert_hard_sigmoid(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double alpha, ctx.real("alpha", static_cast<double>(0.2f)));
  SCANLOOM_TRY(const double beta, ctx.real("beta", 0.5));
  return ctx.emit(ops::hard_sigmoid_op, {x}, {{"alpha", alpha}, {"beta", beta}});
}

// x * max(0, min(1, x / 6 + 1/2)).
Expected<void> convert_hard_swish(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId gate,
               ctx.op(ops::hard_sigmoid_op, {x}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
  return ctx.emit(ops::mul_op, {x, gate});
}

Expected<void> convert_is_inf(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t negative, ctx.integer("detect_negative", 1));
  SCANLOOM_TRY(const std::int64_t positive, ctx.integer("detect_positive", 1));
  return ctx.emit(ops::is_inf_op, {x},
                  {{"detect_negative", negative != 0}, {"detect_positive", positive != 0}});
}

// gamma * elu(x), where alpha is elu's slope below zero. The text of version 1 rounds both.
Expected<void> convert_selu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  const bool rounded = ctx.version() < 6;
  SCANLOOM_TRY(
      const double alpha,
      ctx.real("alpha", static_cast<double>(rounded ? 1.6732f : 1.67326319217681884765625f)));
  SCANLOOM_TRY(
      const double gamma,
      ctx.real("gamma", static_cast<double>(rounded ? 1.0507f : 1.05070102214813232421875f)));
  SCANLOOM_TRY(const ValueId elu, ctx.op(ops::elu_op, {x}, {{"alpha", alpha}}));
  SCANLOOM_TRY(const ValueId factor, ctx.scalar(gamma, ctx.type(x).dtype));
  return ctx.emit(ops::mul_op, {elu, factor});
}

// alpha * elu(x / alpha) below zero, x above zero.
Expected<void> convert_celu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double alpha, ctx.real("alpha", 1));
  const DType dtype = ctx.type(x).dtype;
  SCANLOOM_TRY(const ValueId factor, ctx.scalar(alpha, dtype));
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, dtype));
  SCANLOOM_TRY(const ValueId below, ctx.op(ops::min_op, {x, zero}));
  SCANLOOM_TRY(const ValueId scaled, ctx.op(ops::div_op, {below, factor}));
  SCANLOOM_TRY(const ValueId elu, ctx.op(ops::elu_op, {scaled}, {{"alpha", 1.0}}));
  SCANLOOM_TRY(const ValueId curve, ctx.op(ops::mul_op, {elu, factor}));
  SCANLOOM_TRY(const ValueId line, ctx.op(ops::max_op, {x, zero}));
  return ctx.emit(ops::add_op, {line, curve});
}

Expected<void> convert_thresholded_relu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double alpha, ctx.real("alpha", 1));
  const DType dtype = ctx.type(x).dtype;
  SCANLOOM_TRY(const ValueId limit, ctx.scalar(alpha, dtype));
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, dtype));
  SCANLOOM_TRY(const ValueId above, ctx.op(ops::less_op, {limit, x}));
  return ctx.emit(ops::where_op, {above, x, zero});
}

// x + bias below -lambd, x - bias above lambd, 0 in between.
Expected<void> convert_shrink(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double bias, ctx.real("bias", 0));
  SCANLOOM_TRY(const double lambd, ctx.real("lambd", 0.5));
  const DType dtype = ctx.type(x).dtype;
  SCANLOOM_TRY(const ValueId shift, ctx.scalar(bias, dtype));
  SCANLOOM_TRY(const ValueId high, ctx.scalar(lambd, dtype));
  SCANLOOM_TRY(const ValueId low, ctx.scalar(-lambd, dtype));
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, dtype));
  SCANLOOM_TRY(const ValueId is_below, ctx.op(ops::less_op, {x, low}));
  SCANLOOM_TRY(const ValueId is_above, ctx.op(ops::less_op, {high, x}));
  SCANLOOM_TRY(const ValueId raised, ctx.op(ops::add_op, {x, shift}));
  SCANLOOM_TRY(const ValueId lowered, ctx.op(ops::sub_op, {x, shift}));
  SCANLOOM_TRY(const ValueId rest, ctx.op(ops::where_op, {is_above, lowered, zero}));
  return ctx.emit(ops::where_op, {is_below, raised, rest});
}

Expected<void> convert_softsign(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId one, ctx.scalar(1, ctx.type(x).dtype));
  SCANLOOM_TRY(const ValueId size, ctx.op(ops::abs_op, {x}));
  SCANLOOM_TRY(const ValueId below, ctx.op(ops::add_op, {one, size}));
  return ctx.emit(ops::div_op, {x, below});
}

Expected<void> convert_mish(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId soft, ctx.op(ops::softplus_op, {x}));
  SCANLOOM_TRY(const ValueId gate, ctx.op(ops::tanh_op, {soft}));
  return ctx.emit(ops::mul_op, {x, gate});
}

Expected<void> convert_swish(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const double alpha, ctx.real("alpha", 1));
  SCANLOOM_TRY(const ValueId factor, ctx.scalar(alpha, ctx.type(x).dtype));
  SCANLOOM_TRY(const ValueId scaled, ctx.op(ops::mul_op, {x, factor}));
  SCANLOOM_TRY(const ValueId gate, ctx.op(ops::sigmoid_op, {scaled}));
  return ctx.emit(ops::mul_op, {x, gate});
}

// f16 and bf16 are computed in f32 and rounded once, because for negative x the sum of 1 and the
// curve nearly cancels.
Expected<void> convert_gelu(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId given = c.in(0);
  const std::string approximate = c.text("approximate", "none");
  if (c.ok() && approximate != "tanh" && approximate != "none")
    return invalid_model("attribute 'approximate' is '{}', neither none nor tanh", approximate);
  const ValueId x = c.cast(given, at_least_f32(c.dtype(given)));
  return c.emit(c.cast(c.gelu(x, approximate == "tanh"), c.dtype(given)));
}

namespace {

/// Up to version 6 a list of slopes has one per channel, on axis 1.
Expected<ValueId> slope_per_channel(NodeCtx& ctx, ValueId x, ValueId slope) {
  const tensor::Type& slopes = ctx.type(slope);
  if (!slopes.ranked || slopes.rank() != 1 || slopes.dims[0] == tensor::Dim(1)) return slope;
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  std::vector<std::int64_t> after;
  for (int axis = 2; axis < rank; ++axis) after.push_back(axis - 1);
  if (after.empty()) return slope;
  return ctx.op(ops::unsqueeze_op, {slope}, {{"axes", std::move(after)}});
}

}  // namespace

Expected<void> convert_prelu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(ValueId slope, ctx.in(1));
  if (ctx.version() < 7) {
    SCANLOOM_TRY(slope, slope_per_channel(ctx, x, slope));
  }
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, ctx.type(x).dtype));
  SCANLOOM_TRY(const ValueId is_below, ctx.op(ops::less_op, {x, zero}));
  SCANLOOM_TRY(const ValueId scaled, ctx.op(ops::mul_op, {slope, x}));
  return ctx.emit(ops::where_op, {is_below, scaled, x});
}

}  // namespace scanloom::onnx
