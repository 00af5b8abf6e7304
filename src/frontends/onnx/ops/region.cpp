// MaxRoiPool, MaxUnpool, RoiAlign.
#include "frontends/onnx/ops/converters.h"
#include "ops/composer.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

Expected<void> finish(NodeCtx& ctx, ValueId y, DType dtype) {
  SCANLOOM_TRY(const ValueId narrow, ctx.cast(y, dtype));
  ctx.set_output(0, narrow);
  return {};
}

/// Returns input i in the type used for computing.
Expected<ValueId> wide_in(NodeCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId value, ctx.in(i));
  return ctx.cast(value, ops::at_least_f32(ctx.type(value).dtype));
}

}  // namespace

Expected<void> convert_max_unpool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, ctx.in(1));
  SCANLOOM_TRY(const ValueId shape, ctx.optional_in(2));
  if (!ctx.has_attribute("kernel_shape"))
    return invalid_model("attribute 'kernel_shape' is missing");
  SCANLOOM_TRY(auto kernel, ctx.integers("kernel_shape"));
  std::vector<ir::NamedAttr> attrs = {{"kernel", std::move(kernel)}};
  for (const char* const name : {"pads", "strides"}) {
    SCANLOOM_TRY(auto values, ctx.integers(name));
    if (!values.empty()) attrs.push_back({name, std::move(values)});
  }
  return ctx.emit(ops::max_unpool_op, {x, indices, shape}, std::move(attrs));
}

Expected<void> convert_max_roi_pool(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId given, ctx.in(0));
  SCANLOOM_TRY(const ValueId x, wide_in(ctx, 0));
  SCANLOOM_TRY(const ValueId rois, wide_in(ctx, 1));
  SCANLOOM_TRY(const auto shape, ctx.integers("pooled_shape"));
  if (shape.size() != 2)
    return invalid_model("attribute 'pooled_shape' has {} numbers, not 2", shape.size());
  SCANLOOM_TRY(const double scale, ctx.real("spatial_scale", 1));
  SCANLOOM_TRY(const ValueId y,
               ctx.op(ops::max_roi_pool_op, {x, rois},
                      {{"height", shape[0]}, {"width", shape[1]}, {"spatial_scale", scale}}));
  return finish(ctx, y, ctx.type(given).dtype);
}

// Version 10 has no half-pixel shift of the corners.
Expected<void> convert_roi_align(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId given, ctx.in(0));
  SCANLOOM_TRY(const ValueId x, wide_in(ctx, 0));
  SCANLOOM_TRY(const ValueId rois, wide_in(ctx, 1));
  SCANLOOM_TRY(const ValueId batch, ctx.in(2));
  SCANLOOM_TRY(const std::int64_t height, ctx.integer("output_height", 1));
  SCANLOOM_TRY(const std::int64_t width, ctx.integer("output_width", 1));
  SCANLOOM_TRY(std::string mode, ctx.text("mode", "avg"));
  SCANLOOM_TRY(const std::int64_t ratio, ctx.integer("sampling_ratio", 0));
  SCANLOOM_TRY(const double scale, ctx.real("spatial_scale", 1));
  const char* const usual = ctx.version() < 16 ? "output_half_pixel" : "half_pixel";
  SCANLOOM_TRY(const std::string transformation, ctx.text("coordinate_transformation_mode", usual));
  if (transformation != "half_pixel" && transformation != "output_half_pixel")
    return invalid_model(
        "attribute 'coordinate_transformation_mode' is '{}', neither half_pixel nor "
        "output_half_pixel",
        transformation);
  SCANLOOM_TRY(const ValueId y, ctx.op(ops::roi_align_op, {x, rois, batch},
                                       {{"height", height},
                                        {"width", width},
                                        {"mode", std::move(mode)},
                                        {"sampling_ratio", ratio},
                                        {"spatial_scale", scale},
                                        {"half_pixel", transformation == "half_pixel"}}));
  return finish(ctx, y, ctx.type(given).dtype);
}

}  // namespace scanloom::onnx
