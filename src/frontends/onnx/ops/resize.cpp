// Resize and Upsample, as one `resample` per axis that changes. Floats and small integers are
// computed in f32, others in f64. Integer results are rounded to nearest even.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/ops/converters.h"
#include "ops/composer.h"
#include "ops/ops.h"
#include "tensor/axis_words.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Axes = std::vector<std::int64_t>;

/// Settings common to all axes.
struct Settings {
  std::string mode = "nearest_floor", coordinates = "asymmetric";
  double cubic_a = -0.75, extrapolation = 0;
  bool antialias = false, exclude_outside = false;
  /// When downsampling, versions up to 10 take the next element instead of the last one.
  bool old_nearest = false;
};

/// One axis: its new size and its factor, an f64 scalar, and the part of it to resize, if any.
struct AxisPlan {
  ValueId size, scale, region;
  bool is_same = false;
  std::optional<double> factor;  ///< if known
};

/// Whether a list is absent or has no elements.
bool is_missing(NodeCtx& ctx, int i) {
  if (!ctx.has(i)) return true;
  if (const tensor::Tensor* const known = ctx.constant(i)) return known->elements() == 0;
  return false;
}

Expected<ValueId> scalar_of(NodeCtx& ctx, ValueId list, std::int64_t i) {
  return ctx.op(ops::gather_op, {list, ctx.integer_value(i)}, {{"axis", 0}});
}

Expected<ValueId> size_of(NodeCtx& ctx, ValueId x, std::int64_t axis) {
  return ctx.op(ops::dim_op, {x}, {{"axis", axis}});
}

std::optional<std::vector<double>> known_floats(const tensor::Tensor* tensor) {
  if (tensor == nullptr || tensor->dtype() != DType::f32) return std::nullopt;
  const auto values = tensor->as<float>();
  return std::vector<double>(values.begin(), values.end());
}

/// Returns size * factor in f32, rounded down to a size. Integral factors keep sizes symbolic.
Expected<ValueId> scaled_size(NodeCtx& ctx, ValueId x, std::int64_t axis, ValueId factor,
                              std::optional<double> known) {
  SCANLOOM_TRY(const ValueId size, size_of(ctx, x, axis));
  if (known && *known == std::floor(*known) && *known >= 1 && *known <= 1 << 20)
    return ctx.op(ops::mul_op, {size, ctx.integer_value(static_cast<std::int64_t>(*known))});
  SCANLOOM_TRY(ValueId product, ctx.cast(size, DType::f32));
  SCANLOOM_TRY(product, ctx.op(ops::mul_op, {product, factor}));
  SCANLOOM_TRY(product, ctx.op(ops::floor_op, {product}));
  return ctx.cast(product, DType::i64);
}

Expected<AxisPlan> plan_of_factor(NodeCtx& ctx, ValueId x, std::int64_t axis, ValueId factor,
                                  std::optional<double> known) {
  if (known && !(*known > 0 && *known < 1e15))
    return invalid_model("the scale of axis {} is {}, but must be above 0", axis, *known);
  AxisPlan plan;
  plan.factor = known;
  SCANLOOM_TRY(const ValueId narrow, ctx.cast(factor, DType::f32));
  SCANLOOM_TRY(plan.size, scaled_size(ctx, x, axis, narrow, known));
  SCANLOOM_TRY(plan.scale, ctx.cast(narrow, DType::f64));
  plan.is_same = known == 1.0;
  return plan;
}

Expected<ValueId> quotient(NodeCtx& ctx, ValueId size, ValueId x, std::int64_t axis) {
  SCANLOOM_TRY(const ValueId wanted, ctx.cast(size, DType::f64));
  SCANLOOM_TRY(const ValueId old, size_of(ctx, x, axis));
  SCANLOOM_TRY(const ValueId divisor, ctx.cast(old, DType::f64));
  return ctx.op(ops::div_op, {wanted, divisor});
}

Expected<std::vector<AxisPlan>> plans_of_factors(NodeCtx& ctx, ValueId x, const Axes& axes,
                                                 int input) {
  SCANLOOM_TRY(const ValueId factors, ctx.in(input));
  const auto known = known_floats(ctx.constant(input));
  if (known && known->size() != axes.size())
    return invalid_model("{} has {} scales for {} axes", ctx.describe_input(input), known->size(),
                         axes.size());
  std::vector<AxisPlan> plans;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    SCANLOOM_TRY(const ValueId factor, scalar_of(ctx, factors, static_cast<std::int64_t>(i)));
    SCANLOOM_TRY(AxisPlan plan, plan_of_factor(ctx, x, axes[i], factor,
                                               known ? std::optional((*known)[i]) : std::nullopt));
    plans.push_back(std::move(plan));
  }
  return plans;
}

/// To keep the aspect ratio, uses one factor for all axes and rounds the sizes.
Expected<void> keep_aspect_ratio(NodeCtx& ctx, ValueId x, const Axes& axes, bool smallest,
                                 std::vector<AxisPlan>& plans) {
  ValueId factor = plans.front().scale;
  for (std::size_t i = 1; i < plans.size(); ++i) {
    SCANLOOM_TRY(factor, ctx.op(smallest ? ops::min_op : ops::max_op, {factor, plans[i].scale}));
  }
  SCANLOOM_TRY(const ValueId half, ctx.scalar(0.5, DType::f64));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    SCANLOOM_TRY(const ValueId old, size_of(ctx, x, axes[i]));
    SCANLOOM_TRY(ValueId size, ctx.cast(old, DType::f64));
    SCANLOOM_TRY(size, ctx.op(ops::mul_op, {size, factor}));
    SCANLOOM_TRY(size, ctx.op(ops::add_op, {size, half}));
    SCANLOOM_TRY(size, ctx.op(ops::floor_op, {size}));
    SCANLOOM_TRY(plans[i].size, ctx.cast(size, DType::i64));
    plans[i].scale = factor;
    plans[i].is_same = false;
  }
  return {};
}

Expected<std::vector<AxisPlan>> plans_of_sizes(NodeCtx& ctx, ValueId x, const Axes& axes,
                                               int input) {
  SCANLOOM_TRY(ValueId sizes, ctx.in(input));
  SCANLOOM_TRY(sizes, ctx.cast(sizes, DType::i64));
  const tensor::Tensor* const constant = ctx.constant(input);
  const auto known = constant == nullptr ? std::nullopt : tensor::to_integers(*constant);
  if (known && known->size() != axes.size())
    return invalid_model("{} has {} sizes for {} axes", ctx.describe_input(input), known->size(),
                         axes.size());
  std::vector<AxisPlan> plans;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    AxisPlan plan;
    SCANLOOM_TRY(plan.size, scalar_of(ctx, sizes, static_cast<std::int64_t>(i)));
    SCANLOOM_TRY(plan.scale, quotient(ctx, plan.size, x, axes[i]));
    const tensor::Dim old = ctx.type(x).dims[static_cast<std::size_t>(axes[i])];
    plan.is_same = known && old.is_constant() && old.value() == (*known)[i];
    plans.push_back(std::move(plan));
  }
  SCANLOOM_TRY(const std::string policy, ctx.text("keep_aspect_ratio_policy", "stretch"));
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return invalid_model("attribute 'keep_aspect_ratio_policy' is '{}'", policy);
  if (policy != "stretch" && !plans.empty())
    SCANLOOM_CHECK_OK(keep_aspect_ratio(ctx, x, axes, policy == "not_larger", plans));
  return plans;
}

/// The operand lists the starts of all axes, then the ends.
Expected<void> add_regions(NodeCtx& ctx, std::size_t axes, std::vector<AxisPlan>& plans) {
  SCANLOOM_TRY(ValueId regions, ctx.in(1));
  if (is_missing(ctx, 1)) return invalid_model("{} has no elements", ctx.describe_input(1));
  SCANLOOM_TRY(regions, ctx.cast(regions, DType::f64));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::int64_t positions[] = {static_cast<std::int64_t>(i),
                                      static_cast<std::int64_t>(i + axes)};
    SCANLOOM_TRY(plans[i].region,
                 ctx.op(ops::gather_op, {regions, ctx.integers_value(positions)}, {{"axis", 0}}));
    plans[i].is_same = false;
  }
  return {};
}

Expected<ValueId> back(NodeCtx& ctx, ValueId y, DType dtype) {
  if (is_integer(dtype)) {
    SCANLOOM_TRY(y, ctx.op(ops::round_op, {y}));
  }
  return ctx.cast(y, dtype);
}

Expected<void> resample_axes(NodeCtx& ctx, ValueId x, const Axes& axes,
                             const std::vector<AxisPlan>& plans, const Settings& settings) {
  const DType dtype = ctx.type(x).dtype;
  const bool nearest = settings.mode.starts_with("nearest_");
  if (!nearest && !is_floating_point(dtype) && !is_integer(dtype))
    return invalid_model("{} has elements of type {}, which cannot be interpolated",
                         ctx.describe_input(0), dtype_onnx_name(dtype));
  ValueId y = x;
  if (!nearest) {
    SCANLOOM_TRY(y, ctx.cast(x, ops::real_that_holds(dtype)));
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (plans[i].is_same) continue;
    const bool down = settings.old_nearest && plans[i].factor && *plans[i].factor < 1;
    std::vector<ValueId> operands = {y, plans[i].size, plans[i].scale};
    if (plans[i].region.valid()) operands.push_back(plans[i].region);
    SCANLOOM_TRY(y, ctx.op(ops::resample_op, std::move(operands),
                           {{"axis", axes[i]},
                            {"mode", down ? std::string("nearest_ceil") : settings.mode},
                            {"coordinates", settings.coordinates},
                            {"cubic_a", settings.cubic_a},
                            {"antialias", settings.antialias},
                            {"exclude_outside", settings.exclude_outside},
                            {"extrapolation", settings.extrapolation}}));
  }
  if (!nearest) {
    SCANLOOM_TRY(y, back(ctx, y, dtype));
  }
  if (y == x) {
    ctx.alias_output(0);
    return {};
  }
  ctx.set_output(0, y);
  return {};
}

Expected<std::string> mode_of(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::string mode, ctx.text("mode", "nearest"));
  SCANLOOM_TRY(const std::string nearest, ctx.text("nearest_mode", "round_prefer_floor"));
  if (mode == "linear" || mode == "bilinear") return std::string("linear");
  if (mode == "cubic") return mode;
  if (mode != "nearest")
    return invalid_model("attribute 'mode' is '{}', neither nearest, linear nor cubic", mode);
  const char* const names[] = {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"};
  if (std::ranges::find(names, nearest) == std::end(names))
    return invalid_model("attribute 'nearest_mode' is '{}'", nearest);
  return "nearest_" + nearest;
}

Expected<Settings> settings_of(NodeCtx& ctx) {
  Settings settings;
  SCANLOOM_TRY(settings.mode, mode_of(ctx));
  if (ctx.version() < 11) {
    settings.old_nearest = settings.mode.starts_with("nearest_");
    if (settings.old_nearest) settings.mode = "nearest_floor";
    return settings;
  }
  SCANLOOM_TRY(settings.coordinates, ctx.text("coordinate_transformation_mode", "half_pixel"));
  SCANLOOM_TRY(settings.cubic_a, ctx.real("cubic_coeff_a", -0.75));
  SCANLOOM_TRY(settings.extrapolation, ctx.real("extrapolation_value", 0));
  SCANLOOM_TRY(const std::int64_t exclude, ctx.integer("exclude_outside", 0));
  SCANLOOM_TRY(const std::int64_t antialias, ctx.integer("antialias", 0));
  settings.exclude_outside = exclude != 0;
  settings.antialias = antialias != 0;
  if (settings.antialias && settings.mode.starts_with("nearest_"))
    return invalid_model("attribute 'antialias' is {} with mode nearest", antialias);
  return settings;
}

/// Returns attribute axes, counted from 0; all axes if it is absent.
Expected<Axes> resized_axes(NodeCtx& ctx, int rank) {
  SCANLOOM_TRY(const auto given, ctx.integers("axes"));
  Axes axes;
  if (!ctx.has_attribute("axes"))
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  for (const std::int64_t one : given) {
    const auto axis = tensor::normalise_axis(one, rank);
    if (!axis) return invalid_model("attribute 'axes' has {}, {}", one, tensor::outside_axes(rank));
    if (std::ranges::find(axes, *axis) != axes.end())
      return invalid_model("attribute 'axes' names axis {} twice", *axis);
    axes.push_back(*axis);
  }
  return axes;
}

}  // namespace

Expected<void> convert_resize(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  SCANLOOM_TRY(const Axes axes, resized_axes(ctx, rank));
  SCANLOOM_TRY(const Settings settings, settings_of(ctx));
  const bool old = ctx.version() < 11;
  const int factors = old ? 1 : 2, sizes = 3;
  const bool by_size = !old && !is_missing(ctx, sizes);
  if (by_size && !is_missing(ctx, factors))
    return invalid_model("both scales and sizes are specified");
  std::vector<AxisPlan> plans;
  if (by_size) {
    SCANLOOM_TRY(plans, plans_of_sizes(ctx, x, axes, sizes));
  } else {
    SCANLOOM_TRY(plans, plans_of_factors(ctx, x, axes, factors));
    ctx.ignore("keep_aspect_ratio_policy");
  }
  if (settings.coordinates == "tf_crop_and_resize")
    SCANLOOM_CHECK_OK(add_regions(ctx, axes.size(), plans));
  return resample_axes(ctx, x, axes, plans, settings);
}

// The scales are separate attributes in version 1, a list in 7, an operand in 9.
Expected<void> convert_upsample(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  SCANLOOM_TRY(const Axes axes, resized_axes(ctx, rank));
  Settings settings;
  SCANLOOM_TRY(settings.mode, mode_of(ctx));
  settings.old_nearest = settings.mode.starts_with("nearest_");
  if (settings.old_nearest) settings.mode = "nearest_floor";
  std::vector<AxisPlan> plans;
  if (ctx.version() >= 9) {
    SCANLOOM_TRY(plans, plans_of_factors(ctx, x, axes, 1));
    return resample_axes(ctx, x, axes, plans, settings);
  }
  SCANLOOM_TRY(auto scales, ctx.floats("scales"));
  if (ctx.version() < 7) {
    SCANLOOM_TRY(const double height, ctx.real("height_scale", 1));
    SCANLOOM_TRY(const double width, ctx.real("width_scale", 1));
    scales = {1, 1, height, width};
  }
  if (scales.size() != axes.size())
    return invalid_model("there are {} scales for the {} axes of {}", scales.size(), rank,
                         ctx.describe_input(0));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    SCANLOOM_TRY(const ValueId factor, ctx.scalar(scales[i], DType::f32));
    SCANLOOM_TRY(AxisPlan plan, plan_of_factor(ctx, x, axes[i], factor, scales[i]));
    plans.push_back(std::move(plan));
  }
  return resample_axes(ctx, x, axes, plans, settings);
}

}  // namespace scanloom::onnx
