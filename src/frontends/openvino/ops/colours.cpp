// I420 and NV12 to RGB and BGR. The input is a plane of luma and, at half the resolution, two of
// chroma.
#include <utility>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// Luma [batch, height, width, 1], and two chroma planes with half that height and width.
struct Planes {
  ValueId y, u, v;
};

ValueId channel(LayerComposer& c, ValueId x, std::int64_t i) { return c.slice(x, 3, i, i + 1); }

/// Splits a picture in a single tensor. Luma is the first two thirds of the rows; chroma follows,
/// as pairs for NV12 and one plane after another for I420.
Planes parts_of_one(LayerComposer& c, ValueId x, bool pairs) {
  const ValueId two = c.number(2), batch = c.dim(x, 0), width = c.dim(x, 2);
  const ValueId half = c.div(c.dim(x, 1), c.number(3)), height = c.mul(half, two);
  const ValueId colours = c.slice(x, 1, height, c.mul(half, c.number(3)));
  const ValueId half_width = c.div(width, two);
  const ValueId y = c.slice(x, 1, c.number(0), height);
  if (pairs) {
    const ValueId both = c.reshape(colours, c.join({batch, half, half_width, two}));
    return {y, channel(c, both, 0), channel(c, both, 1)};
  }
  const ValueId both = c.reshape(colours, c.join({batch, two, half, half_width, c.number(1)}));
  return {y, c.gather(both, c.number(0), 1), c.gather(both, c.number(1), 1)};
}

Planes planes_of(LayerComposer& c, bool pairs) {
  const ValueId x = c.in(0);
  for (int i = 0; i < c.ctx().input_count(); ++i)
    if (const int rank = c.rank(i, c.in(i)); c.ok() && rank != 4)
      c.refuse(invalid_model("input {} has {} axes, but 4 are needed", i, rank));
  if (c.ctx().input_count() == 1) return parts_of_one(c, x, pairs);
  if (pairs) return {x, channel(c, c.in(1), 0), channel(c, c.in(1), 1)};
  if (!c.ctx().has(2)) c.refuse(invalid_model("it has 2 inputs, but 1 or 3 are needed"));
  return {x, c.in(1), c.in(2)};
}

/// Repeats every element in a square of 2 x 2.
ValueId doubled(LayerComposer& c, ValueId x) {
  const ValueId batch = c.dim(x, 0), height = c.dim(x, 1), width = c.dim(x, 2);
  const ValueId one = c.number(1), two = c.number(2);
  const ValueId squares =
      c.expand(c.unsqueeze(x, {2, 4}), c.join({batch, height, two, width, two, one}));
  return c.reshape(squares, c.join({batch, c.mul(height, two), c.mul(width, two), one}));
}

}  // namespace

// Integers are rounded to nearest.
Expected<void> convert_colours(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const std::string_view name = operation(ctx);
  const DType dtype = c.dtype(c.in(0)), wide = ops::at_least_f32(dtype);
  const Planes planes = planes_of(c, name.starts_with("NV12"));
  const auto real = [&](double value) { return c.scalar(value, wide); };
  const auto above = [&](ValueId x, double black) { return c.sub(c.cast(x, wide), real(black)); };
  const auto times = [&](double factor, ValueId x) { return c.mul(real(factor), x); };
  const ValueId y = times(1.164, above(planes.y, 16));
  const ValueId u = doubled(c, above(planes.u, 128)), v = doubled(c, above(planes.v, 128));
  ValueId red = c.add(y, times(1.596, v)), blue = c.add(y, times(2.018, u));
  const ValueId green = c.sub(c.sub(y, times(0.391, u)), times(0.813, v));
  if (name.ends_with("BGR")) std::swap(red, blue);
  ValueId picture = c.concat({red, green, blue}, 3);
  picture = c.min(c.max(picture, real(0)), real(255));
  if (is_integer(dtype)) picture = c.op(ops::round_op, {picture});
  return c.emit(c.cast(picture, dtype));
}

}  // namespace scanloom::openvino
