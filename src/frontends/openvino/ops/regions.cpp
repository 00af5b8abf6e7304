// GridSample and pools over regions, computed in at least f32.
#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;

Expected<void> convert_grid_sample(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0), grid = c.wide_in(1);
  const std::string mode = c.choice("mode", "bilinear", {"bilinear", "bicubic", "nearest"});
  const std::string padding = c.choice("padding_mode", "zeros", {"zeros", "border", "reflection"});
  const DType dtype = c.dtype(x);
  const bool moves = mode == "nearest";
  if (c.ok() && !moves && !is_floating_point(dtype))
    return invalid_model("input 0 is {}, which cannot be interpolated", dtype_name(dtype));
  const ValueId y = c.op(ops::grid_sample_op, {moves ? x : c.wide_in(0), grid},
                         {{"mode", moves                ? mode
                                   : mode == "bilinear" ? "linear"
                                                        : "cubic"},
                          {"padding", padding},
                          {"align_corners", c.flag("align_corners", false)}});
  return c.emit(c.cast(y, dtype));
}

// With aligned_mode half_pixel, corners refer to the middle of elements before scaling, too.
Expected<void> convert_roi_align(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0), images = c.in(2);
  ValueId rois = c.cast(c.in(1), c.dtype(x));
  SCANLOOM_TRY(const std::int64_t height, ctx.attributes.integer("pooled_h"));
  SCANLOOM_TRY(const std::int64_t width, ctx.attributes.integer("pooled_w"));
  SCANLOOM_TRY(const double scale, ctx.attributes.real("spatial_scale"));
  const std::string mode = c.choice("mode", "avg", {"avg", "max"});
  const std::string aligned =
      c.choice("aligned_mode", "asymmetric", {"asymmetric", "half_pixel_for_nn", "half_pixel"});
  if (aligned == "half_pixel") rois = c.add(rois, c.like(0.5, rois));
  const ValueId y = c.op(ops::roi_align_op, {x, rois, c.cast(images, DType::i64)},
                         {{"height", height},
                          {"width", width},
                          {"mode", mode == "avg" ? mode : "max_sample"},
                          {"sampling_ratio", c.integer("sampling_ratio", 0)},
                          {"spatial_scale", scale},
                          {"half_pixel", aligned != "asymmetric"}});
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

namespace {

/// Returns the positions along one axis at which `count` cells of the regions from `low` to `high`
/// are sampled, by region and cell. Corners are relative to the axis, which ends at its first and
/// last element.
ValueId sampled_positions(LayerComposer& c, ValueId low, ValueId high, std::int64_t count,
                          ValueId size) {
  const ValueId last = c.sub(size, c.like(1, size));
  if (count == 1) return c.unsqueeze(c.mul(c.mul(c.add(low, high), c.like(0.5, low)), last), {1});
  const ValueId step = c.div(c.mul(c.sub(high, low), last), c.like(double(count - 1), low));
  const ValueId cells = c.cast(c.count_up(c.number(count)), c.dtype(low));
  return c.add(c.mul(cells, c.unsqueeze(step, {1})), c.unsqueeze(c.mul(low, last), {1}));
}

/// Interpolates one element per cell; cells outside of x are 0.
ValueId pool_between(LayerComposer& c, ValueId x, ValueId rois, std::int64_t height,
                     std::int64_t width) {
  const auto column = [&](std::int64_t i) { return c.gather(rois, c.number(i), 1); };
  const auto size = [&](int axis) { return c.cast(c.dim(x, axis), c.dtype(rois)); };
  const auto scaled = [&](ValueId positions, ValueId of) {
    const ValueId last = c.max(c.sub(of, c.like(1, of)), c.like(1, of));
    return c.sub(c.div(c.mul(positions, c.like(2, positions)), last), c.like(1, positions));
  };
  const auto inside = [&](ValueId positions, ValueId of) {
    return c.both(c.less_equal(c.like(0, positions), positions),
                  c.less_equal(positions, c.sub(of, c.like(1, of))));
  };
  const ValueId rows =
      c.unsqueeze(sampled_positions(c, column(2), column(4), height, size(2)), {2});
  const ValueId columns =
      c.unsqueeze(sampled_positions(c, column(1), column(3), width, size(3)), {1});
  const ValueId grid_shape = c.join({c.dim(rois, 0), c.number(height), c.number(width)});
  const ValueId grid = c.concat({c.unsqueeze(c.expand(scaled(columns, size(3)), grid_shape), {3}),
                                 c.unsqueeze(c.expand(scaled(rows, size(2)), grid_shape), {3})},
                                3);
  const ValueId images = c.gather(x, c.cast(column(0), DType::i64), 0);
  const ValueId y = c.op(ops::grid_sample_op, {images, grid},
                         {{"mode", "linear"}, {"padding", "border"}, {"align_corners", 1}});
  const ValueId known = c.both(inside(rows, size(2)), inside(columns, size(3)));
  return c.where(c.unsqueeze(known, {1}), y, c.like(0, y));
}

}  // namespace

// With the bilinear method corners are relative to the image and spatial_scale is ignored.
Expected<void> convert_roi_pooling(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0), rois = c.cast(c.in(1), c.dtype(x));
  const std::string method = c.choice("method", "max", {"max", "bilinear"});
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(auto size, ctx.attributes.integers("output_size"));
  // OpenVINO writes both the list and the two numbers.
  const bool has_list = !size.empty();
  for (const char* const name : {"pooled_h", "pooled_w"}) {
    if (has_list || !ctx.attributes.has(name)) continue;
    SCANLOOM_TRY(const std::int64_t one, ctx.attributes.integer(name));
    size.push_back(one);
  }
  if (size.size() != 2) return invalid_model("it gives {} sizes of the result, not 2", size.size());
  SCANLOOM_TRY(const double scale, ctx.attributes.real("spatial_scale"));
  for (const std::int64_t one : size)
    if (one < 1) return invalid_model("the result has the size {}, but at least 1 is needed", one);
  const ValueId y = method == "bilinear"
                        ? pool_between(c, x, rois, size[0], size[1])
                        : c.op(ops::max_roi_pool_op, {x, rois},
                               {{"height", size[0]}, {"width", size[1]}, {"spatial_scale", scale}});
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

// Version 15. With clockwise_mode the angle turns the other way.
Expected<void> convert_roi_align_rotated(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0), rois = c.cast(c.in(1), c.dtype(x));
  SCANLOOM_TRY(const std::int64_t height, ctx.attributes.integer("pooled_h"));
  SCANLOOM_TRY(const std::int64_t width, ctx.attributes.integer("pooled_w"));
  SCANLOOM_TRY(const double scale, ctx.attributes.real("spatial_scale"));
  if (const std::int64_t numbers = c.known_size(rois, 1); numbers >= 0 && numbers != 5)
    return invalid_model("input 1 has {} numbers per region, not 5", numbers);
  ValueId angle = c.slice(rois, 1, 4, 5);
  if (c.flag("clockwise_mode", false)) angle = c.neg(angle);
  const ValueId turned = c.concat({c.slice(rois, 1, 0, 4), c.cos(angle), c.sin(angle)}, 1);
  const ValueId y = c.op(ops::roi_align_rotated_op, {x, turned, c.cast(c.in(2), DType::i64)},
                         {{"height", height},
                          {"width", width},
                          {"sampling_ratio", c.integer("sampling_ratio", 0)},
                          {"spatial_scale", scale}});
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

// Position-sensitive pools.
Expected<void> convert_psroi_pooling(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const bool deformable = operation(ctx) == "DeformablePSROIPooling";
  const ValueId x = c.wide_in(0), rois = c.cast(c.in(1), c.dtype(x));
  SCANLOOM_TRY(const std::int64_t channels, ctx.attributes.integer("output_dim"));
  SCANLOOM_TRY(const double scale, ctx.attributes.real("spatial_scale"));
  const std::int64_t size = c.integer("group_size", 1);
  const std::string mode = deformable
                               ? c.choice("mode", "bilinear_deformable", {"bilinear_deformable"})
                               : c.choice("mode", "average", {"average", "bilinear"});
  std::vector<ValueId> operands = {x, rois};
  if (ctx.has(2)) operands.push_back(c.cast(c.in(2), c.dtype(x)));
  if (const std::int64_t part = ctx.has(2) ? c.known_size(operands[2], 2) : -1;
      part >= 0 && part != c.integer("part_size", 1))
    return invalid_model("attribute 'part_size' is {}, but input 2 has size {} on axis 2",
                         c.integer("part_size", 1), part);
  const ValueId y = c.op(ops::psroi_pool_op, std::move(operands),
                         {{"mode", deformable ? "deformable" : mode},
                          {"channels", channels},
                          {"height", size},
                          {"width", size},
                          {"spatial_scale", scale},
                          {"bins_y", c.integer("spatial_bins_y", 1)},
                          {"bins_x", c.integer("spatial_bins_x", 1)},
                          {"offset_scale", c.real("trans_std", 1)}});
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

namespace {

/// Returns the level of the pyramid for each region, i64: by the root of its area compared with
/// that of a 224 by 224 image, which belongs to level 2. A region without an area has `levels`.
ValueId levels_of(LayerComposer& c, ValueId rois, std::int64_t levels) {
  const auto column = [&](std::int64_t i) { return c.gather(rois, c.number(i), 1); };
  const ValueId area = c.mul(c.sub(column(2), column(0)), c.sub(column(3), column(1)));
  const ValueId zero = c.like(0, area);
  const ValueId side = c.div(c.sqrt(c.max(area, zero)), c.like(224, area));
  const ValueId octave =
      c.mul(c.log(c.add(side, c.like(1e-6, side))), c.like(1.4426950408889634, side));
  const ValueId level = c.cast(c.op(ops::floor_op, {c.add(octave, c.like(2, octave))}), DType::i64);
  const ValueId within = c.max(c.number(0), c.min(level, c.number(levels - 1)));
  return c.where(c.less(zero, area), within, c.number(levels));
}

}  // namespace

// Version 6. Each region is aligned on the level of a pyramid of features that suits its size.
Expected<void> convert_roi_feature_extractor(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const std::int64_t size, ctx.attributes.integer("output_size"));
  SCANLOOM_TRY(const auto scales, ctx.attributes.floats("pyramid_scales"));
  const std::int64_t levels = ctx.input_count() - 1;
  if (static_cast<std::int64_t>(scales.size()) < levels)
    return invalid_model("attribute 'pyramid_scales' has {} numbers, but there are {} levels",
                         scales.size(), levels);
  const ValueId rois = c.wide_in(0), level = levels_of(c, rois, levels);
  const double shift = c.flag("aligned", false) ? 0.5 : 0;
  const std::int64_t ratio = c.integer("sampling_ratio", 0);
  const auto of_level = [&](std::int64_t i) {
    return c.squeeze(c.op(ops::non_zero_op, {c.equal(level, c.number(i))}), {0});
  };
  std::vector<ValueId> parts, order;
  for (std::int64_t i = 0; i < levels; ++i) {
    const ValueId picked = of_level(i), x = c.cast(c.in(static_cast<int>(i) + 1), c.dtype(rois));
    // Regions are scaled here, since the operator makes them at least one element wide only
    // without half_pixel.
    const double scale = 1.0F / static_cast<float>(scales[static_cast<std::size_t>(i)]);
    ValueId own = c.mul(c.gather(rois, picked, 0), c.like(scale, rois));
    if (shift != 0) own = c.sub(own, c.like(shift, own));
    const ValueId images = c.expand(c.number(0), c.join({c.dim(picked, 0)}));
    parts.push_back(c.op(ops::roi_align_op, {x, own, images},
                         {{"height", size},
                          {"width", size},
                          {"mode", "avg"},
                          {"sampling_ratio", ratio},
                          {"spatial_scale", 1.0},
                          {"half_pixel", 0}}));
    order.push_back(picked);
  }
  const ValueId flat = of_level(levels);
  order.push_back(flat);
  if (!parts.empty())
    parts.push_back(c.expand(c.like(0, rois), c.join({c.dim(flat, 0), c.shape(parts[0], 1)})));
  const ValueId all = c.concat(std::move(order), 0);
  const ValueId back = best_of(c, all, c.join({c.dim(all, 0)}), 0, false).indices;
  const ValueId y = c.cast(c.gather(c.concat(std::move(parts), 0), back, 0), c.dtype(c.in(0)));
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(0, y);
  ctx.set_output(1, c.in(0));
  return {};
}

}  // namespace scanloom::openvino
