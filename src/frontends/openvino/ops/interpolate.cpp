// Interpolate, as one `resample` per axis that changes. Floats and small integers are computed in
// f32, others in f64. Integer results are rounded to nearest even.
#include <algorithm>
#include <cmath>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// Settings common to all axes, in the words of `resample`.
struct Sampling {
  std::string mode, coordinates = "half_pixel";
  double cubic_a = -0.75;
  bool antialias = false;
  /// Takes the next element when downsampling, otherwise the last one.
  bool simple_nearest = false;

  [[nodiscard]] std::vector<ir::NamedAttr> attributes(std::int64_t axis) const {
    // The part of an antialiasing filter outside of x does not count.
    return {{"axis", axis},        {"mode", mode},           {"coordinates", coordinates},
            {"cubic_a", cubic_a},  {"antialias", antialias}, {"exclude_outside", antialias},
            {"extrapolation", 0.0}};
  }
};

Sampling old_sampling(LayerComposer& c) {
  Sampling sampling;
  const std::string mode = c.choice("mode", "nearest", {"nearest", "linear", "cubic"});
  sampling.simple_nearest = mode == "nearest";
  sampling.mode = mode == "nearest" ? "nearest_floor" : mode;
  sampling.antialias = mode == "linear" && c.flag("antialias", false);
  sampling.coordinates = c.flag("align_corners", true) ? "align_corners" : "asymmetric";
  return sampling;
}

Sampling sampling_of(LayerComposer& c) {
  if (c.ctx().version() < 4) return old_sampling(c);
  Sampling sampling;
  const std::string mode =
      c.choice("mode", "nearest",
               {"nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"});
  const std::string nearest =
      c.choice("nearest_mode", "round_prefer_floor",
               {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"});
  sampling.coordinates = c.choice(
      "coordinate_transformation_mode", "half_pixel",
      {"half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"});
  sampling.cubic_a = c.real("cube_coeff", -0.75);
  sampling.antialias = mode == "linear" && c.flag("antialias", false);
  sampling.simple_nearest = mode == "nearest" && nearest == "simple";
  sampling.mode = mode.starts_with("linear") || mode == "bilinear_pillow" ? "linear" : "cubic";
  if (mode == "nearest") sampling.mode = "nearest_" + (nearest == "simple" ? "floor" : nearest);
  if (mode.ends_with("pillow")) {
    sampling.antialias = true;
    sampling.coordinates = "half_pixel";
  }
  return sampling;
}

LayerComposer::Ints resized_axes(LayerComposer& c, int rank) {
  LayerCtx& ctx = c.ctx();
  const int input = ctx.version() < 11 ? 3 : 2;
  if (ctx.version() >= 4 && ctx.has(input)) return c.axes(input, rank);
  if (ctx.version() >= 4) return ops::axes_between(0, rank);
  const auto axes = c.take(ctx.attributes.integers("axes"));
  if (c.ok() && axes.empty()) c.refuse(invalid_model("attribute 'axes' is missing"));
  for (const std::int64_t axis : axes)
    if (c.ok() && (axis < 0 || axis >= rank))
      c.refuse(invalid_model("attribute 'axes' has {}, outside [0, {})", axis, rank));
  return axes;
}

/// Pads x with zeros as given by attributes pads_begin and pads_end for the first axes.
ValueId padded(LayerComposer& c, ValueId x, int rank) {
  auto pads = c.take(c.ctx().attributes.integers("pads_begin"));
  auto end = c.take(c.ctx().attributes.integers("pads_end"));
  if (std::ranges::all_of(pads, [](auto pad) { return pad == 0; }) &&
      std::ranges::all_of(end, [](auto pad) { return pad == 0; }))
    return x;
  const auto axes = static_cast<std::size_t>(rank);
  if (pads.size() > axes || end.size() > axes)
    c.refuse(invalid_model("there are pads for {} and {} axes, but input 0 has {}", pads.size(),
                           end.size(), rank));
  pads.resize(axes);
  end.resize(axes);
  pads.insert(pads.end(), end.begin(), end.end());
  return c.op(ops::pad_op, {x, c.list(pads)}, {{"mode", "constant"}});
}

/// The sizes or the factors of the axes.
struct Targets {
  ValueId list;
  bool are_factors = false;
  const tensor::Tensor* known = nullptr;
};

Targets targets_of(LayerComposer& c, std::size_t axes) {
  LayerCtx& ctx = c.ctx();
  Targets targets;
  int input = 1;
  if (ctx.version() >= 4) {
    const std::string by = c.choice("shape_calculation_mode", "sizes", {"sizes", "scales"});
    targets.are_factors = by == "scales";
    if (ctx.version() < 11 && targets.are_factors) input = 2;
  }
  targets.list = c.in(input);
  if (c.ok() && is_integer(c.dtype(targets.list))) targets.list = c.sizes_in(input);
  targets.known = ctx.constant(input);
  const std::int64_t count = c.known_size(targets.list, 0);
  if (c.ok() && count >= 0 && count != static_cast<std::int64_t>(axes))
    c.refuse(invalid_model("input {} has {} elements for {} axes", input, count, axes));
  if (c.ok() && is_floating_point(c.dtype(targets.list)) != targets.are_factors)
    c.refuse(invalid_model("input {} is {}, not {}", input, dtype_name(c.dtype(targets.list)),
                           targets.are_factors ? "real" : "an integer"));
  return targets;
}

/// One axis: its new size and its factor, an f64.
struct AxisPlan {
  ValueId size, factor;
  bool is_same = false;
};

AxisPlan plan_of(LayerComposer& c, ValueId x, std::int64_t axis, const Targets& targets,
                 std::int64_t i, const Sampling& sampling) {
  AxisPlan plan;
  const ValueId in = c.dim(x, axis), target = c.gather(targets.list, c.number(i), 0);
  const std::int64_t known_in = c.known_size(x, static_cast<int>(axis));
  if (targets.are_factors) {
    const ValueId factor = c.cast(target, DType::f32);
    plan.size = c.cast(c.op(ops::floor_op, {c.mul(c.cast(in, DType::f32), factor)}), DType::i64);
    plan.factor = c.cast(factor, DType::f64);
    if (targets.known != nullptr && targets.known->dtype() == DType::f32)
      plan.is_same = targets.known->as<float>()[static_cast<std::size_t>(i)] == 1;
  } else {
    plan.size = target;
    const auto sizes =
        targets.known == nullptr ? std::nullopt : tensor::to_integers(*targets.known);
    plan.is_same = sizes && (*sizes)[static_cast<std::size_t>(i)] == known_in;
  }
  // With align_corners the factor must be that of the final size.
  if (!targets.are_factors || sampling.coordinates == "align_corners")
    plan.factor = c.div(c.cast(plan.size, DType::f64), c.cast(in, DType::f64));
  return plan;
}

ValueId resampled(LayerComposer& c, ValueId x, std::int64_t axis, const AxisPlan& plan,
                  Sampling sampling) {
  const ValueId y = c.op(ops::resample_op, {x, plan.size, plan.factor}, sampling.attributes(axis));
  if (!sampling.simple_nearest) return y;
  sampling.mode = "nearest_ceil";
  const ValueId smaller =
      c.op(ops::resample_op, {x, plan.size, plan.factor}, sampling.attributes(axis));
  return c.where(c.less(plan.factor, c.scalar(1, DType::f64)), smaller, y);
}

}  // namespace

Expected<void> convert_interpolate(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId given = c.in(0);
  const int rank = c.rank(0, given, 1);
  const DType dtype = c.dtype(given);
  const Sampling sampling = sampling_of(c);
  const LayerComposer::Ints axes = resized_axes(c, rank);
  const Targets targets = targets_of(c, axes.size());
  const bool moves = sampling.mode.starts_with("nearest_");
  if (c.ok() && !moves && !is_floating_point(dtype) && !is_integer(dtype))
    return invalid_model("input 0 is {}, which cannot be interpolated", dtype_name(dtype));
  ValueId y = padded(c, given, rank);
  const bool exact = is_floating_point(dtype) ? dtype_bytes(dtype) < 8 : dtype_bytes(dtype) <= 2;
  if (!moves) y = c.cast(y, exact ? DType::f32 : DType::f64);
  for (std::size_t i = 0; i < axes.size() && c.ok(); ++i) {
    const AxisPlan plan = plan_of(c, y, axes[i], targets, static_cast<std::int64_t>(i), sampling);
    if (!plan.is_same) y = resampled(c, y, axes[i], plan, sampling);
  }
  if (!moves && is_integer(dtype)) y = c.op(ops::round_op, {y});
  return c.emit(c.cast(y, dtype));
}

}  // namespace scanloom::openvino
