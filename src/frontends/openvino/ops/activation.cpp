// Activations and other element-wise functions that are formulas over operators of the IR.
#include <algorithm>
#include <cmath>
#include <limits>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

/// Further inputs and attributes of the layer, in the element type used for computing.
struct Parameters {
  LayerCtx& ctx;
  Composer& c;
  DType dtype;

  ValueId input(int i) { return c.cast(c.take(ctx.in(i)), dtype); }
  ValueId input(int i, double fallback) {
    return ctx.has(i) ? input(i) : c.scalar(fallback, dtype);
  }
};

using Formula = ValueId (*)(Composer& c, ValueId x, Parameters parameters);

ValueId elu(Composer& c, ValueId x, Parameters parameters) {
  const double alpha = c.take(parameters.ctx.attributes.real("alpha"));
  return c.op(ops::elu_op, {x}, {{"alpha", alpha}});
}

ValueId gelu(Composer& c, ValueId x, Parameters parameters) {
  const std::string mode =
      parameters.ctx.version() < 7
          ? "erf"
          : c.take(parameters.ctx.attributes.choice("approximation_mode", "erf", {"erf", "tanh"}));
  return c.gelu(x, mode == "tanh");
}

ValueId limited(Composer& c, ValueId x, double low, double high) {
  return c.min(c.max(x, c.like(low, x)), c.like(high, x));
}

ValueId hard_sigmoid(Composer& c, ValueId x, Parameters parameters) {
  const ValueId line = c.add(c.mul(parameters.input(1), x), parameters.input(2));
  return limited(c, line, 0, 1);
}

ValueId hsigmoid(Composer& c, ValueId x, Parameters) {
  return c.div(limited(c, c.add(x, c.like(3, x)), 0, 6), c.like(6, x));
}

ValueId hswish(Composer& c, ValueId x, Parameters parameters) {
  return c.mul(x, hsigmoid(c, x, parameters));
}

ValueId mish(Composer& c, ValueId x, Parameters) {
  return c.mul(x, c.op(ops::tanh_op, {c.op(ops::softplus_op, {x})}));
}

// lambda * x above 0, lambda * alpha * (exp(x) - 1) below.
ValueId selu(Composer& c, ValueId x, Parameters parameters) {
  const ValueId curve = c.mul(parameters.input(1), c.op(ops::expm1_op, {x}));
  const ValueId is_above = c.less(c.like(0, x), x);
  return c.mul(parameters.input(2), c.where(is_above, x, curve));
}

ValueId softsign(Composer& c, ValueId x, Parameters) {
  return c.div(x, c.add(c.like(1, x), c.abs(x)));
}

ValueId swish(Composer& c, ValueId x, Parameters parameters) {
  return c.mul(x, c.op(ops::sigmoid_op, {c.mul(parameters.input(1, 1), x)}));
}

ValueId tangent(Composer& c, ValueId x, Parameters) { return c.tan(x); }

// Rounds to nearest, ties to even or away from zero.
ValueId rounded(Composer& c, ValueId x, Parameters parameters) {
  const std::string mode = c.take(parameters.ctx.attributes.choice(
      "mode", "half_to_even", {"half_to_even", "half_away_from_zero"}));
  if (mode != "half_away_from_zero") return c.op(ops::round_op, {x});
  const ValueId size = c.abs(x), whole = c.op(ops::floor_op, {size});
  const ValueId goes_down = c.less(c.sub(size, whole), c.like(0.5, x));
  const ValueId result = c.where(goes_down, whole, c.add(whole, c.like(1, x)));
  return c.where(c.less(x, c.like(0, x)), c.neg(result), result);
}

// A list with one slope per channel belongs to axis 1; other slopes are broadcast.
ValueId prelu(Composer& c, ValueId x, Parameters parameters) {
  ValueId slope = parameters.input(1);
  if (!c.ok()) return {};
  const tensor::Type& slopes = parameters.ctx.type(slope);
  const std::int64_t count = c.known_size(slope, 0);
  if (!slopes.ranked || (slopes.rank() == 1 && count != 1)) {
    c.take(parameters.ctx.rank(1, slope));
    const int rank = c.take(parameters.ctx.rank(0, x));
    const std::int64_t channels = c.known_size(x, 1);
    if (rank > 2 && (count == channels || count < 0 || channels < 0))
      slope = c.per_channel(slope, rank);
  }
  return c.where(c.less(x, c.like(0, x)), c.mul(slope, x), x);
}

struct Activation {
  std::string_view type;
  Formula formula;
};

constexpr Activation kActivations[] = {
    {"Elu", elu},
    {"Gelu", gelu},
    {"HSigmoid", hsigmoid},
    {"HSwish", hswish},
    {"HardSigmoid", hard_sigmoid},
    {"Mish", mish},
    {"PReLU", prelu},
    {"Round", rounded},
    {"Selu", selu},
    {"SoftSign", softsign},
    {"Swish", swish},
    {"Tan", tangent},
};

}  // namespace

// Computed in at least f32 and rounded once; for integers, to the nearest integer.
Expected<void> convert_activation(LayerCtx& ctx) {
  const auto* const found = std::ranges::find(kActivations, operation(ctx), &Activation::type);
  if (found == std::end(kActivations))
    return fail(Code::internal, "'{}' is not supported", operation(ctx));
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  const DType own = ctx.type(x).dtype;
  const DType dtype = is_integer(own) ? DType::f64 : ops::at_least_f32(own);
  Composer c(ctx.builder());
  ValueId y = found->formula(c, c.cast(x, dtype), Parameters{ctx, c, dtype});
  if (is_integer(own)) y = c.op(ops::round_op, {y});
  return ctx.emit(c, c.cast(y, own));
}

namespace {

/// Whether a limit has no effect on numbers of that type.
bool is_open(DType dtype, double limit, bool is_low) {
  if (!is_integer(dtype)) return std::isinf(limit) && (limit < 0) == is_low;
  const int bits = dtype_file_bits(dtype);
  const bool is_signed = dtype_kind(dtype) == DTypeKind::signed_int;
  if (is_low) return limit <= (is_signed ? -std::ldexp(1, bits - 1) : 0);
  return limit >= std::ldexp(1, is_signed ? bits - 1 : bits) - 1;
}

}  // namespace

// Integers are clamped to the integers between the limits.
Expected<void> convert_clamp(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(double low, ctx.attributes.real("min"));
  SCANLOOM_TRY(double high, ctx.attributes.real("max"));
  if (!(low <= high))
    return invalid_model("attribute 'min' is {}, above 'max', which is {}", low, high);
  const DType dtype = ctx.type(x).dtype;
  if (is_integer(dtype)) {
    low = std::ceil(low);
    high = std::floor(high);
  }
  Composer c(ctx.builder());
  const ValueId y =
      c.op(ops::clip_op, {x, is_open(dtype, low, true) ? ValueId{} : c.scalar(low, dtype),
                          is_open(dtype, high, false) ? ValueId{} : c.scalar(high, dtype)});
  return ctx.emit(c, y);
}

Expected<void> convert_is_inf(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const bool negative, ctx.attributes.boolean("detect_negative", true));
  SCANLOOM_TRY(const bool positive, ctx.attributes.boolean("detect_positive", true));
  Composer c(ctx.builder());
  const ValueId real = is_integer(c.dtype(x)) ? c.cast(x, DType::f32) : x;
  return ctx.emit(c, c.op(ops::is_inf_op, {real},
                          {{"detect_negative", negative}, {"detect_positive", positive}}));
}

// A comparison with NaN is false.
Expected<void> convert_is_finite(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  Composer c(ctx.builder());
  const ValueId real = is_integer(c.dtype(x)) ? c.cast(x, DType::f64) : x;
  return ctx.emit(c, c.less(c.abs(real), c.like(std::numeric_limits<double>::infinity(), real)));
}

}  // namespace scanloom::openvino
