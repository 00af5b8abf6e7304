// Normalizations of com.microsoft: SkipLayerNormalization and SkipSimplifiedLayerNormalization,
// which first add a residual and a bias, GroupNorm and SkipGroupNorm with the channels last, and
// RMS normalizations of groups. All are computed in f32 (f64 in f64) and rounded once.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/reduce/normalization.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Returns input i in `wide`; an invalid id if it is absent.
ValueId widened(Composer& c, int i, DType wide) {
  const ValueId x = c.optional_in(i);
  return x.valid() ? c.cast(x, wide) : x;
}

void set_if_wanted(Composer& c, int i, ValueId value, DType dtype) {
  if (!c.ctx().wants(i)) return;
  const ValueId typed = c.cast(value, dtype);
  if (c.ok()) c.ctx().set_output(i, typed);
}

/// 1 / sqrt(x + epsilon).
ValueId inverse_root_of(Composer& c, ValueId x, double epsilon) {
  return c.div(c.like(1, x), c.sqrt(c.add(x, c.like(epsilon, x))));
}

ValueId silu(Composer& c, ValueId x) { return c.mul(x, c.op(ops::sigmoid_op, {x})); }

/// x + skip + bias, in `wide`.
ValueId residual_sum(Composer& c, DType wide, int bias_input) {
  c.in(0);
  c.in(1);
  const ValueId sum = c.add(widened(c, 0, wide), widened(c, 1, wide));
  const ValueId bias = widened(c, bias_input, wide);
  return bias.valid() ? c.add(sum, bias) : sum;
}

}  // namespace

// The default of epsilon is that of the operator's schema.
Expected<void> convert_skip_layer_normalization(NodeCtx& ctx) {
  Composer c(ctx);
  const bool simplified = ctx.op_type() == "SkipSimplifiedLayerNormalization";
  const double epsilon = c.real("epsilon", static_cast<double>(1e-12f));
  const ValueId x = c.in(0);
  c.rank(0, x, 1);
  const DType own = c.dtype(x), wide = at_least_f32(own);
  const ValueId sum = residual_sum(c, wide, simplified ? 3 : 4);
  c.in(2);
  const ValueId gamma = widened(c, 2, wide);
  const ValueId beta = simplified ? ValueId{} : widened(c, 3, wide);
  const ValueId mean = simplified ? ValueId{} : c.reduce(sum, "mean", {-1});
  const ValueId centred = simplified ? sum : c.sub(sum, mean);
  const ValueId inverse =
      inverse_root_of(c, c.reduce(c.mul(centred, centred), "mean", {-1}), epsilon);
  ValueId y = c.mul(c.mul(centred, inverse), gamma);
  if (beta.valid()) y = c.add(y, beta);
  if (simplified && ctx.wants(1))
    c.refuse(fail(Code::unsupported, "output 1, a mean, is not computed by this operator"));
  if (!simplified) set_if_wanted(c, 1, mean, DType::f32);
  set_if_wanted(c, 2, inverse, DType::f32);
  set_if_wanted(c, 3, sum, own);
  return c.emit(c.cast(y, own));
}

namespace {

/// The operands of GroupNorm. With `last`, the channels are the last axis.
struct GroupedInput {
  ValueId x;
  int rank = 0;
  bool last = true;
  std::int64_t groups = 1;
  DType wide = DType::f32;
};

GroupedInput grouped_input(Composer& c) {
  GroupedInput g;
  NodeCtx& ctx = c.ctx();
  g.x = c.in(0);
  g.rank = c.rank(0, g.x, 3);
  g.last = c.integer("channels_last", 1) != 0;
  g.groups = c.take(ctx.required_integer("groups"));
  g.wide = at_least_f32(c.dtype(g.x));
  const std::int64_t channels = c.known_size(g.x, g.last ? g.rank - 1 : 1);
  if (c.ok() && (g.groups < 1 || (channels >= 0 && channels % g.groups != 0)))
    c.refuse(invalid_model("attribute 'groups' is {}, {} has {} channels", g.groups,
                           ctx.describe_input(0), channels));
  return g;
}

/// Normalizes each group of channels of `x`, then scales and shifts the channels.
ValueId group_normalised(Composer& c, const GroupedInput& g, ValueId x, double epsilon) {
  const ValueId shape = c.shape(x), count = c.number(g.groups);
  const int channels = g.last ? g.rank - 1 : 1;
  const ValueId each = c.div(c.dim(x, channels), count);
  const ValueId split =
      c.reshape(x, c.join({c.shape(x, 0, channels), count, each, c.shape(x, channels + 1)}));
  Composer::Ints axes;
  for (int axis = 1; axis <= g.rank; ++axis)
    if (axis != channels) axes.push_back(axis);
  const ValueId normal = c.reshape(ops::normalise(c, split, axes, epsilon), shape);
  const auto spread = [&](int i) {
    c.in(i);
    const ValueId list = widened(c, i, g.wide);
    return g.last ? list : c.per_channel(list, g.rank);
  };
  return c.add(c.mul(normal, spread(1)), spread(2));
}

ValueId group_activation(Composer& c, ValueId y) {
  const std::int64_t activation = c.integer("activation", 0);
  if (activation != 0 && activation != 1)
    c.refuse(invalid_model("attribute 'activation' is {}, neither 0 nor 1", activation));
  return activation == 1 ? silu(c, y) : y;
}

/// Returns input 3 so that it broadcasts against x: as it is, or one row per sample.
ValueId skip_of_groups(Composer& c, const GroupedInput& g) {
  c.in(3);
  const ValueId skip = widened(c, 3, g.wide);
  const int rank = c.rank(3, skip, 1);
  if (rank != 2) return skip;
  return c.unsqueeze(skip, g.last ? axes_between(1, g.rank - 1) : axes_between(2, g.rank));
}

}  // namespace

Expected<void> convert_group_norm(NodeCtx& ctx) {
  Composer c(ctx);
  const double epsilon = c.real("epsilon", static_cast<double>(1e-5f));
  const GroupedInput g = grouped_input(c);
  const bool skips = ctx.op_type() == "SkipGroupNorm";
  ValueId x = c.cast(g.x, g.wide);
  if (skips) {
    x = c.add(x, skip_of_groups(c, g));
    if (const ValueId bias = widened(c, 4, g.wide); bias.valid())
      x = c.add(x, g.last ? bias : c.per_channel(bias, g.rank));
    set_if_wanted(c, 1, x, c.dtype(g.x));
  }
  const ValueId y = group_activation(c, group_normalised(c, g, x, epsilon));
  return c.emit(c.cast(y, c.dtype(g.x)));
}

// x / sqrt(mean(x^2) + epsilon) * scale * activation(gate), for each run of as many elements as
// scale has.
Expected<void> convert_gated_rms_norm(NodeCtx& ctx) {
  Composer c(ctx);
  const double epsilon = c.real("epsilon", static_cast<double>(1e-5f));
  const std::string name = c.text("activation", "silu");
  const ValueId given = c.in(0), scale = c.cast(c.in(1), DType::f32);
  if (c.ok() && name != "silu" && name != "swish" && name != "sigmoid")
    return invalid_model("attribute 'activation' is '{}', neither silu, swish nor sigmoid", name);
  const ValueId shape = c.join({c.number(-1), c.dim(scale, 0)});
  const auto rows = [&](ValueId x) {
    return c.op(ops::reshape_op, {c.cast(x, DType::f32), shape}, {{"allowzero", 0}});
  };
  const ValueId x = rows(given), gate = rows(c.in(2));
  const ValueId inverse = inverse_root_of(c, c.reduce(c.mul(x, x), "mean", {-1}), epsilon);
  const ValueId factor = name == "sigmoid" ? c.op(ops::sigmoid_op, {gate}) : silu(c, gate);
  const ValueId y = c.mul(c.mul(c.mul(x, inverse), scale), factor);
  return c.emit(c.cast(c.reshape(y, c.shape(given)), c.dtype(given)));
}

// Each of `num_branches` parts of the last axis, or each row of it, is normalized by itself.
Expected<void> convert_branchwise_rms_norm(NodeCtx& ctx) {
  Composer c(ctx);
  const double epsilon = c.real("epsilon", static_cast<double>(1e-5f));
  const std::int64_t branches = c.integer("num_branches", 0);
  const ValueId given = c.in(0);
  const int rank = c.rank(0, given, branches > 0 ? 1 : 2);
  if (branches < 0) return invalid_model("attribute 'num_branches' is {}, below 0", branches);
  ValueId x = c.cast(given, DType::f32);
  if (branches > 0) {
    const ValueId count = c.number(branches), size = c.div(c.dim(x, rank - 1), count);
    x = c.reshape(x, c.join({c.shape(x, 0, rank - 1), count, size}));
  }
  ValueId y = c.mul(x, inverse_root_of(c, c.reduce(c.mul(x, x), "mean", {-1}), epsilon));
  if (ctx.has(1)) {
    ValueId scale = widened(c, 1, DType::f32);
    if (c.rank(1, scale, 1) == 1) {
      // One scale per element of a branch, or of all branches.
      const ValueId size = c.dim(x, -1);
      scale = c.op(ops::reshape_op, {scale, c.join({c.number(-1), size})}, {{"allowzero", 0}});
    }
    y = c.mul(y, scale);
  }
  return c.emit(c.cast(c.reshape(y, c.shape(given)), c.dtype(given)));
}

}  // namespace scanloom::onnx
