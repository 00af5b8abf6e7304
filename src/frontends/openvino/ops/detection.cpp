// Parts of detectors: grids of prior boxes, YOLO cells, top regions.
#include "frontends/openvino/ops/boxes.h"
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using Ints = ops::Composer::Ints;

namespace {

/// Merges axes `first` to `last`, inclusive, into one.
ValueId merged_axes(LayerComposer& c, ValueId x, int first, int last, int rank) {
  const ValueId merged = c.reduce_all(c.shape(x, first, last + 1), "prod");
  return c.reshape(x, c.join({c.shape(x, 0, first), merged, c.shape(x, last + 1, rank)}));
}

}  // namespace

// Each region has two positions, `coords` - 2 other coordinates, an object score, and class scores.
// All except the coordinates after the second become probabilities.
Expected<void> convert_region_yolo(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId given = c.in(0), x = c.wide_in(0);
  const int rank = c.rank(0, given, 4);
  SCANLOOM_TRY(const std::int64_t coords, ctx.attributes.integer("coords"));
  SCANLOOM_TRY(const std::int64_t classes, ctx.attributes.integer("classes"));
  SCANLOOM_TRY(const std::int64_t regions, ctx.attributes.integer("num"));
  SCANLOOM_TRY(const Ints mask, ctx.attributes.integers("mask"));
  const bool soft = c.flag("do_softmax", true);
  SCANLOOM_CHECK_OK(c.done());
  constexpr std::int64_t kMax = 1 << 20;
  const std::int64_t used = soft ? regions : static_cast<std::int64_t>(mask.size());
  if (rank != 4) return invalid_model("input 0 has {} axes, but 4 are needed", rank);
  if (coords < 2 || classes < 1 || used < 1 || coords > kMax || classes > kMax || used > kMax)
    return invalid_model(
        "{} coordinates, {} classes and {} regions: at least 2, 1 and 1 are needed, at most {}",
        coords, classes, used, kMax);
  const ValueId split = c.join(
      {c.dim(x, 0), c.number(used), c.number(coords + 1 + classes), c.dim(x, 2), c.dim(x, 3)});
  const ValueId cells = c.reshape(x, split);
  const auto part = [&](std::int64_t first, std::int64_t last) {
    return c.slice(cells, 2, first, last);
  };
  const auto likely = [&](ValueId scores) { return c.op(ops::sigmoid_op, {scores}); };
  const std::int64_t end = coords + 1 + classes;
  std::vector<ValueId> parts = {likely(part(0, 2)), part(2, coords),
                                likely(part(coords, coords + 1))};
  const ValueId scores = part(coords + 1, end);
  parts.push_back(soft ? c.op(ops::softmax_op, {scores}, {{"axis", 2}}) : likely(scores));
  ValueId y = c.reshape(c.concat(std::move(parts), 2), c.shape(x));
  if (soft) {
    const std::int64_t first = c.axis("axis", 1, rank), last = c.axis("end_axis", 3, rank);
    if (c.ok() && first > last)
      return invalid_model("attribute 'axis' is {}, after 'end_axis', which is {}", first, last);
    y = merged_axes(c, y, static_cast<int>(first), static_cast<int>(last), rank);
  }
  return c.emit(c.cast(y, c.dtype(given)));
}

// Rearranges the elements, viewed as a picture with fewer and larger planes, by their position
// within squares.
Expected<void> convert_reorg_yolo(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x, 4);
  SCANLOOM_TRY(const Ints strides, ctx.attributes.integers("stride"));
  SCANLOOM_CHECK_OK(c.done());
  constexpr std::int64_t kMax = 1 << 15;
  if (rank != 4 || strides.empty() || strides[0] < 1 || strides[0] > kMax)
    return invalid_model("input 0 has {} axes and the stride is {}: 4 and 1 to {} are needed", rank,
                         strides.empty() ? 0 : strides[0], kMax);
  const ValueId side = c.number(strides[0]), square = c.mul(side, side);
  const ValueId batch = c.dim(x, 0), channels = c.dim(x, 1), height = c.dim(x, 2);
  const ValueId width = c.dim(x, 3), fewer = c.div(channels, square);
  const ValueId picture = c.reshape(x, c.join({batch, fewer, height, side, width, side}));
  const ValueId moved = c.transpose(picture, {0, 3, 5, 1, 2, 4});
  const ValueId sizes =
      c.join({batch, c.mul(channels, square), c.div(height, side), c.div(width, side)});
  return c.emit(c.reshape(moved, sizes));
}

namespace {

/// The number of cells along an axis of the image, and the distance between them.
struct GridAxis {
  ValueId cells, step;
};

GridAxis grid_axis(LayerComposer& c, const char* count, const char* step, int axis, DType dtype) {
  const std::int64_t given = c.integer(count, 0);
  GridAxis grid;
  grid.cells = given > 0 ? c.number(given) : c.dim(c.in(1), axis);
  const double apart = c.real(step, 0);
  grid.step = apart > 0 ? c.scalar(apart, dtype)
                        : c.div(c.cast(c.dim(c.in(2), axis), dtype), c.cast(grid.cells, dtype));
  return grid;
}

/// Returns the centres of the cells.
ValueId middles(LayerComposer& c, const GridAxis& axis) {
  const DType dtype = c.dtype(axis.step);
  return c.mul(c.add(c.cast(c.count_up(axis.cells), dtype), c.scalar(0.5, dtype)), axis.step);
}

}  // namespace

// Prior boxes around the centre of each grid cell.
Expected<void> convert_prior_grid(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId priors = c.in(0);
  const DType dtype = c.dtype(priors);
  for (int i = 1; i < 3; ++i)
    if (const int rank = c.rank(i, c.in(i)); c.ok() && rank != 4)
      return invalid_model("input {} has {} axes, but 4 are needed", i, rank);
  const GridAxis rows = grid_axis(c, "h", "stride_y", 2, dtype);
  const GridAxis columns = grid_axis(c, "w", "stride_x", 3, dtype);
  const ValueId shape = c.join({rows.cells, columns.cells, c.number(1), c.number(1)});
  const ValueId x = c.expand(c.unsqueeze(middles(c, columns), {0, 2, 3}), shape);
  const ValueId y = c.expand(c.unsqueeze(middles(c, rows), {1, 2, 3}), shape);
  const ValueId boxes = c.add(c.concat({x, y, x, y}, 3), priors);
  return c.emit(c.flag("flatten", true) ? c.reshape(boxes, c.list({-1, 4})) : boxes);
}

// Selects the regions with the largest probabilities; there must be at least that many.
Expected<void> convert_topk_rois(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId rois = c.in(0), scores = c.in(1);
  SCANLOOM_TRY(const std::int64_t count, ctx.attributes.integer("max_rois", 0));
  if (count < 0) return invalid_model("attribute 'max_rois' is {}, but must be at least 0", count);
  return c.emit(c.gather(rois, best_of(c, scores, c.list({count}), 0, true).indices, 0));
}

// Boxes with the given widths and heights around each cell, relative to the image, and their
// variances.
Expected<void> convert_prior_box_clustered(LayerCtx& ctx) {
  LayerComposer c(ctx);
  SCANLOOM_TRY(const std::vector<double> widths, ctx.attributes.floats("width"));
  SCANLOOM_TRY(const std::vector<double> heights, ctx.attributes.floats("height"));
  if (widths.empty() || widths.size() != heights.size())
    return invalid_model("attributes 'width' and 'height' have {} and {} numbers", widths.size(),
                         heights.size());
  const ValueId cells = c.sizes_in(0), image = c.sizes_in(1);
  limit_elements(c, c.join({cells, c.number(static_cast<std::int64_t>(widths.size()))}));
  const double step = c.real("step", 0), offset = c.real("offset", 0);
  const auto number = [&](double value) { return c.scalar(value, DType::f32); };
  /// Returns the low and high corners along an axis, [cell, box].
  const auto corners = [&](std::int64_t axis, const char* name,
                           const std::vector<double>& lengths) {
    const ValueId count = c.gather(cells, c.number(axis), 0);
    const ValueId size = c.cast(c.gather(image, c.number(axis), 0), DType::f32);
    double apart = c.real(name, 0);
    if (apart == 0) apart = step;
    const ValueId between = apart != 0 ? number(apart) : c.div(size, c.cast(count, DType::f32));
    const ValueId middle =
        c.mul(c.add(c.cast(c.count_up(count), DType::f32), number(offset)), between);
    const ValueId half = c.div(floats_of(c, lengths), number(2)), at = c.unsqueeze(middle, {1});
    return std::pair(c.div(c.sub(at, half), size), c.div(c.add(at, half), size));
  };
  const auto rows = corners(0, "step_h", heights), columns = corners(1, "step_w", widths);
  const auto boxes = static_cast<std::int64_t>(widths.size());
  const ValueId shape =
      c.join({c.gather(cells, c.number(0), 0), c.gather(cells, c.number(1), 0), c.number(boxes)});
  const auto down = [&](ValueId x) {
    return c.unsqueeze(c.expand(c.unsqueeze(x, {1}), shape), {3});
  };
  const auto along = [&](ValueId x) { return c.unsqueeze(c.expand(x, shape), {3}); };
  ValueId all = c.concat(
      {along(columns.first), down(rows.first), along(columns.second), down(rows.second)}, 3);
  if (c.flag("clip", true)) all = c.min(c.max(all, number(0)), number(1));
  const ValueId flat = c.list({1, -1});
  return c.emit(
      c.concat({c.reshape(all, flat), c.reshape(box_variances(c, c.shape(all)), flat)}, 0));
}

}  // namespace scanloom::openvino
