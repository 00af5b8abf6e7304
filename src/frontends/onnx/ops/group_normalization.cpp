// InstanceNormalization, GroupNormalization, MeanVarianceNormalization, LpNormalization and LRN.
#include <algorithm>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/reduce/normalization.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

ValueId scale_channels(Composer& c, ValueId x, ValueId scale, ValueId bias, int rank) {
  return c.add(c.mul(x, c.per_channel(scale, rank)), c.per_channel(bias, rank));
}

}  // namespace

// f16 and bf16 are computed in f32 and rounded once.
Expected<void> convert_instance_normalization(NodeCtx& ctx) {
  ctx.ignore("consumed_inputs");  // in version 1, without effect
  Composer c(ctx);
  const ValueId x = c.in(0), scale = c.in(1), bias = c.in(2);
  const int rank = c.rank(0, x, 2);
  const double epsilon = c.real("epsilon", static_cast<double>(1e-5f));
  const DType wide = at_least_f32(c.dtype(x));
  const ValueId normal = ops::normalise(c, c.cast(x, wide), axes_between(2, rank), epsilon);
  const ValueId y = scale_channels(c, normal, c.cast(scale, wide), c.cast(bias, wide), rank);
  return c.emit(c.cast(y, c.dtype(x)));
}

// Scale and bias are per group in version 18 and per channel since 21.
Expected<void> convert_group_normalization(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), scale = c.in(1), bias = c.in(2);
  const int rank = c.rank(0, x, 2);
  const double epsilon = c.real("epsilon", static_cast<double>(1e-5f));
  const bool per_group = ctx.version() < 21;
  const DType stash = per_group ? c.dtype(x) : c.dtype_attribute("stash_type", DType::f32);
  SCANLOOM_TRY(const std::int64_t groups, ctx.required_integer("num_groups"));
  const std::int64_t channels = c.known_size(x, 1);
  if (groups < 1 || (channels >= 0 && channels % groups != 0))
    return invalid_model("attribute 'num_groups' is {}, {} has {} channels", groups,
                         ctx.describe_input(0), channels);
  if (!is_floating_point(stash))
    return invalid_model("attribute 'stash_type' is {}", dtype_onnx_name(stash));
  const ValueId count = c.number(groups);
  const ValueId grouped_shape =
      c.join({c.dim(x, 0), count, c.div(c.dim(x, 1), count), c.shape(x, 2)});
  const ValueId grouped = c.reshape(c.cast(x, stash), grouped_shape);
  const ValueId normal =
      c.cast(ops::normalise(c, grouped, axes_between(2, rank + 1), epsilon), c.dtype(x));
  if (!per_group)
    return c.emit(scale_channels(c, c.reshape(normal, c.shape(x)), scale, bias, rank));
  return c.emit(c.reshape(scale_channels(c, normal, scale, bias, rank + 1), c.shape(x)));
}

// The specification's own function uses 1e-9.
Expected<void> convert_mean_variance_normalization(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  auto axes = c.take(ctx.integers("axes"));
  if (!ctx.has_attribute("axes")) axes = {0, 2, 3};
  const DType wide = at_least_f32(c.dtype(x));
  const ops::Centred centred = ops::centre(c, c.cast(x, wide), axes);
  const ValueId deviation = c.add(c.sqrt(centred.variance), c.scalar(1e-9, wide));
  const ValueId inverse = c.div(c.scalar(1, wide), deviation);
  return c.emit(c.cast(c.mul(centred.x, inverse), c.dtype(x)));
}

// If the norm is 0, the result is 0.
Expected<void> convert_lp_normalization(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const std::int64_t axis = c.integer("axis", -1);
  const std::int64_t p = c.integer("p", 2);
  if (p != 1 && p != 2) return invalid_model("attribute 'p' is {}, neither 1 nor 2", p);
  const ValueId norm = c.reduce(x, p == 1 ? "l1" : "l2", {axis});
  const ValueId zero = c.like(0, x);
  return c.emit(c.where(c.equal(norm, zero), zero, c.div(x, norm)));
}

// x / (bias + alpha / size * sum of the squares of its neighbours) ^ beta.
Expected<void> convert_lrn(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  c.rank(0, x, 2);
  const double alpha = c.real("alpha", static_cast<double>(1e-4f));
  const double beta = c.real("beta", 0.75), bias = c.real("bias", 1);
  SCANLOOM_TRY(const std::int64_t size, ctx.required_integer("size"));
  if (size < 1) return invalid_model("attribute 'size' is {}, but at least 1 is needed", size);
  // A window cannot cover more than all channels.
  const std::int64_t channels = c.known_size(x, 1);
  const std::int64_t most = channels > 0 ? channels - 1 : size;
  const std::int64_t before = std::min((size - 1) / 2, most), after = std::min(size / 2, most);
  const DType wide = at_least_f32(c.dtype(x));
  const ValueId input = c.cast(x, wide);
  const ValueId sums = ops::window_sums(c, c.mul(input, input), 1, before, after);
  const ValueId scaled = c.mul(c.scalar(alpha / static_cast<double>(size), wide), sums);
  const ValueId below = c.pow(c.add(c.scalar(bias, wide), scaled), c.scalar(beta, wide));
  return c.emit(c.cast(c.div(input, below), c.dtype(x)));
}

}  // namespace scanloom::onnx
