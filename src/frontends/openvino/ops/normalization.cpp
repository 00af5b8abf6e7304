// BatchNormInference, MVN, NormalizeL2, GroupNormalization, LRN, GRN. f16 and bf16 are computed in
// f32 and rounded once.
#include "ops/reduce/normalization.h"

#include <algorithm>
#include <cmath>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

using ir::ValueId;

// x * factor + shift. In opset 1 x comes after gamma and beta.
Expected<void> convert_batch_norm(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const int at = ctx.version() >= 5 ? 0 : 2, gamma = ctx.version() >= 5 ? 1 : 0;
  const ValueId x = c.wide_in(at);
  const int rank = c.rank(at, x, 2);
  SCANLOOM_TRY(const double epsilon, ctx.attributes.real("epsilon"));
  const ValueId variance = c.wide_in(4);
  const ValueId deviation = c.sqrt(c.add(variance, c.like(epsilon, variance)));
  const ValueId factor = c.div(c.wide_in(gamma), deviation);
  const ValueId shift = c.sub(c.wide_in(gamma + 1), c.mul(c.wide_in(3), factor));
  const ValueId y = c.add(c.mul(x, c.per_channel(factor, rank)), c.per_channel(shift, rank));
  return c.emit(c.cast(y, c.dtype(c.in(at))));
}

// Version 1 reduces all axes after the first two, or after the first one, or those of an attribute.
Expected<void> convert_mvn(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0);
  const int rank = c.rank(0, x, 1);
  const bool old = ctx.version() < 6;
  LayerComposer::Ints axes;
  if (old) {
    SCANLOOM_TRY(axes, ctx.attributes.integers("reduction_axes"));
    if (axes.empty()) axes = ops::axes_between(c.flag("across_channels", true) ? 1 : 2, rank);
  } else {
    axes = c.axes(1, rank);
  }
  const double epsilon = c.real("eps", 0);
  const std::string mode =
      old ? "inside_sqrt" : c.choice("eps_mode", "inside_sqrt", {"inside_sqrt", "outside_sqrt"});
  SCANLOOM_CHECK_OK(c.done());
  if (axes.empty()) return fail(Code::unsupported, "there are no axes to normalise");
  const ops::Centred centred = ops::centre(c, x, axes);
  ValueId y = centred.x;
  if (c.flag("normalize_variance", true)) {
    const ValueId small = c.like(epsilon, x);
    y = c.div(y, mode == "inside_sqrt" ? c.sqrt(c.add(centred.variance, small))
                                       : c.add(c.sqrt(centred.variance), small));
  }
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

// Without axes each element is normalised by itself.
Expected<void> convert_normalize_l2(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0);
  const LayerComposer::Ints axes = c.axes(1, c.rank(0, x));
  const double epsilon = c.real("eps", 0);
  const std::string mode = c.choice("eps_mode", "add", {"add", "max"});
  const ValueId squares = c.mul(x, x), small = c.like(epsilon, x);
  const ValueId sum = axes.empty() ? squares : c.reduce(squares, "sum", axes);
  const ValueId norm = c.sqrt(mode == "add" ? c.add(sum, small) : c.max(sum, small));
  return c.emit(c.cast(c.div(x, norm), c.dtype(c.in(0))));
}

Expected<void> convert_group_normalization(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0);
  const int rank = c.rank(0, x, 2);
  SCANLOOM_TRY(const std::int64_t groups, ctx.attributes.integer("num_groups"));
  SCANLOOM_TRY(const double epsilon, ctx.attributes.real("epsilon"));
  const std::int64_t channels = c.known_size(x, 1);
  if (groups < 1 || (channels >= 0 && channels % groups != 0))
    return invalid_model("attribute 'num_groups' is {}, input 0 has {} channels", groups, channels);
  const ValueId count = c.number(groups);
  const ValueId parted =
      c.reshape(x, c.join({c.dim(x, 0), count, c.div(c.dim(x, 1), count), c.shape(x, 2)}));
  const ValueId normal =
      c.reshape(ops::normalise(c, parted, ops::axes_between(2, rank + 1), epsilon), c.shape(x));
  const ValueId scale = c.per_channel(c.wide_in(1), rank);
  const ValueId y = c.add(c.mul(normal, scale), c.per_channel(c.wide_in(2), rank));
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

// x / (bias + alpha / size ^ axes * sum of the squares of its neighbours) ^ beta.
Expected<void> convert_lrn(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0);
  const LayerComposer::Ints axes = c.axes(1, c.rank(0, x));
  SCANLOOM_TRY(const double alpha, ctx.attributes.real("alpha"));
  SCANLOOM_TRY(const double beta, ctx.attributes.real("beta"));
  SCANLOOM_TRY(const double bias, ctx.attributes.real("bias"));
  SCANLOOM_TRY(const std::int64_t size, ctx.attributes.integer("size"));
  if (size < 1) return invalid_model("attribute 'size' is {}, but at least 1 is needed", size);
  ValueId sums = c.mul(x, x);
  for (const std::int64_t axis : axes) {
    // A window cannot cover more than all elements.
    const std::int64_t elements = c.known_size(x, static_cast<int>(axis));
    std::int64_t reach = (size - 1) / 2;
    if (elements > 0) reach = std::min(reach, elements - 1);
    sums = ops::window_sums(c, sums, axis, reach, reach);
  }
  const double share = alpha / std::pow(static_cast<double>(size), axes.size());
  const ValueId below =
      c.pow(c.add(c.like(bias, x), c.mul(c.like(share, x), sums)), c.like(beta, x));
  return c.emit(c.cast(c.div(x, below), c.dtype(c.in(0))));
}

// x / sqrt(sum of the squares over the channels + bias).
Expected<void> convert_grn(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0);
  c.rank(0, x, 2);
  SCANLOOM_TRY(const double bias, ctx.attributes.real("bias"));
  const ValueId sum = c.reduce(c.mul(x, x), "sum", {1});
  return c.emit(c.cast(c.div(x, c.sqrt(c.add(sum, c.like(bias, x)))), c.dtype(c.in(0))));
}

// Maps x between input low and high to the nearest of `levels` numbers from output low to output
// high.
Expected<void> convert_fake_quantize(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const std::int64_t levels, ctx.attributes.integer("levels"));
  if (levels < 2)
    return invalid_model("attribute 'levels' is {}, but at least 2 are needed", levels);
  const ValueId x = c.wide_in(0), low = c.wide_in(1), high = c.wide_in(2);
  const ValueId out_low = c.wide_in(3), out_high = c.wide_in(4);
  const ValueId steps = c.like(static_cast<double>(levels - 1), x);
  const ValueId level = c.op(ops::round_op, {c.mul(c.div(c.sub(x, low), c.sub(high, low)), steps)});
  const ValueId inside = c.add(c.mul(c.div(level, steps), c.sub(out_high, out_low)), out_low);
  const ValueId below = c.less_equal(x, c.min(low, high));
  const ValueId above = c.less(c.max(low, high), x);
  const ValueId y = c.where(below, out_low, c.where(above, out_high, inside));
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

}  // namespace scanloom::openvino
