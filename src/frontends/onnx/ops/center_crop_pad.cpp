// CenterCropPad and AffineGrid.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

// Both are a pad: where elements are cropped away it is negative. Division rounds towards 0, so
// that of an odd number of elements the greater part is at the end, of those that go as of those
// that come.
Expected<void> convert_center_crop_pad(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), target = c.cast(c.in(1), DType::i64);
  const int rank = c.rank(0, x, 0);
  auto axes = c.take(ctx.integers("axes"));
  if (!ctx.has_attribute("axes")) axes = axes_between(0, rank);
  for (std::int64_t& axis : axes) {
    const auto normal = tensor::normalise_axis(axis, rank);
    if (!normal)
      return invalid_model("attribute 'axes' has {}, outside [-{}, {})", axis, rank, rank);
    axis = *normal;
  }
  if (const std::int64_t count = c.known_size(target, 0);
      c.ok() && count >= 0 && count != static_cast<std::int64_t>(axes.size()))
    return invalid_model("{} has {} entries for {} axes", ctx.describe_input(1), count,
                         axes.size());
  const ValueId which = c.list(axes);
  const ValueId missing = c.sub(target, c.gather(c.shape(x), which, 0));
  const ValueId before = c.div(missing, c.number(2));
  const ValueId pads = c.concat({before, c.sub(missing, before)}, 0);
  return c.emit(c.op(ops::pad_op, {x, pads, {}, which}, {{"mode", "constant"}}));
}

namespace {

/// The positions along an axis of `size` pixels, from -1 to 1: of the pixels' centres, where the
/// first and the last centre or, unless `to_centres`, their outer edges lie at -1 and 1.
ValueId pixel_positions(Composer& c, ValueId size, bool to_centres) {
  const auto number = [&](double value) { return c.scalar(value, DType::f64); };
  const ValueId i = c.cast(c.count_up(size), DType::f64), count = c.cast(size, DType::f64);
  if (!to_centres) return c.sub(c.div(c.add(c.add(i, i), number(1)), count), number(1));
  // A single pixel lies at -1, the start.
  const ValueId steps = c.max(c.sub(count, number(1)), number(1));
  return c.sub(c.div(c.add(i, i), steps), number(1));
}

}  // namespace

// The columns of theta belong to x, y, (z,) 1, of which x is the last axis of the grid.
Expected<void> convert_affine_grid(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId theta = c.in(0), size = c.cast(c.in(1), DType::i64);
  const bool to_centres = c.integer("align_corners", 0) != 0;
  const std::int64_t entries = c.known_size(size, 0);
  SCANLOOM_CHECK_OK(c.done());
  if (entries < 0)
    return fail(Code::unsupported, "{} has a number of entries that is not known, 4 or 5",
                ctx.describe_input(1));
  if (entries != 4 && entries != 5)
    return invalid_model("{} has {} entries, not 4 or 5", ctx.describe_input(1), entries);
  const int axes = static_cast<int>(entries) - 2;
  const ValueId wide = c.cast(theta, DType::f64);
  const auto column = [&](int i) {  // [batch, 1..., coordinates]
    const ValueId one = c.gather(wide, c.number(i), 2);
    return c.unsqueeze(one, axes_between(1, axes + 1));
  };
  ValueId grid = column(axes);
  for (int i = 0; i < axes; ++i) {
    const int axis = axes - 1 - i;  // of the grid's own axes
    const ValueId length = c.gather(size, c.number(axis + 2), 0);
    const ValueId position =
        c.unsqueeze(pixel_positions(c, length, to_centres), axes_between(1, axes - axis + 1));
    grid = c.add(grid, c.mul(column(i), position));
  }
  return c.emit(c.cast(grid, c.dtype(theta)));
}

}  // namespace scanloom::onnx
