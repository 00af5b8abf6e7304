// CropAndResize of com.microsoft: boxes of images, resized to one size with the corners aligned, by
// bilinear interpolation or the nearest element. Elements outside of the image have a given value.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Along one axis of the image, for each box and position of the crop: [boxes, positions].
struct CropAxis {
  ValueId at;           ///< position in the image, in f32
  ValueId inside;       ///< whether it is in the image
  ValueId size, limit;  ///< of the image: the size in i64, the last position in f32
};

/// `low` and `high`: columns of the boxes.
CropAxis crop_axis(Composer& c, ValueId x, int axis, ValueId boxes, int low, int high,
                   ValueId positions) {
  CropAxis a;
  a.size = c.dim(x, axis);
  a.limit = c.cast(c.sub(a.size, c.number(1)), DType::f32);
  const ValueId start = c.mul(c.slice(boxes, 1, low, low + 1), a.limit);
  const ValueId end = c.mul(c.slice(boxes, 1, high, high + 1), a.limit);
  const ValueId last = c.sub(positions, c.number(1)), one = c.scalar(1, DType::f32);
  const ValueId steps = c.max(c.cast(last, DType::f32), one);
  const ValueId number = c.count_up(positions);
  const ValueId moved =
      c.add(start, c.mul(c.cast(number, DType::f32), c.div(c.sub(end, start), steps)));
  // The corners are exact, and a single position is the middle.
  const ValueId many = c.where(c.equal(number, last), end, moved);
  const ValueId middle = c.mul(c.scalar(0.5, DType::f32), c.add(start, end));
  a.at = c.where(c.less(c.number(1), positions), many, middle);
  const ValueId none = c.scalar(0, DType::f32);
  a.inside = c.both(c.less_equal(none, a.at), c.less_equal(a.at, a.limit));
  // What is outside is not used, but must be a position of the image.
  a.at = c.where(a.inside, a.at, none);
  return a;
}

/// Reads the elements at integer positions [boxes, rows] and [boxes, columns]: [boxes, channels,
/// rows, columns].
class CropReader {
 public:
  CropReader(Composer& c, ValueId x, ValueId batch, ValueId width)
      : c_(c), flat_(c.op(ops::reshape_op, {x, c.list({-1})}, {{"allowzero", 0}})), width_(width) {
    // A lookup, so that an index outside of the batch is an error.
    const ValueId image = c.gather(c.count_up(c.dim(x, 0)), batch, 0);
    const ValueId channels = c.dim(x, 1), plane = c.mul(c.dim(x, 2), width);
    const ValueId planes = c.add(c.unsqueeze(c.mul(image, channels), {1}), c.count_up(channels));
    base_ = c.unsqueeze(c.mul(planes, plane), {2, 3});
  }

  ValueId at(ValueId rows, ValueId columns) {
    const auto whole = [&](ValueId x) { return c_.cast(x, DType::i64); };
    const ValueId row = c_.unsqueeze(c_.mul(whole(rows), width_), {1, 3});
    const ValueId index = c_.add(c_.add(base_, row), c_.unsqueeze(whole(columns), {1, 2}));
    return c_.gather(flat_, index, 0);
  }

 private:
  Composer& c_;
  ValueId flat_, width_, base_;
};

/// a + (b - a) * share.
ValueId blended(Composer& c, ValueId a, ValueId b, ValueId share) {
  return c.add(a, c.mul(c.sub(b, a), share));
}

}  // namespace

Expected<void> convert_crop_and_resize(NodeCtx& ctx) {
  Composer c(ctx);
  const std::string mode = c.text("mode", "bilinear");
  const double outside = c.real("extrapolation_value", 0);
  const ValueId given = c.in(0), boxes = c.cast(c.in(1), DType::f32), batch = c.in(2);
  const ValueId size = c.cast(c.in(3), DType::i64);
  if (c.ok() && mode != "bilinear" && mode != "nearest")
    return invalid_model("attribute 'mode' is '{}', neither bilinear nor nearest",
                         shown_name(mode));
  if (const int rank = c.rank(0, given, 4); c.ok() && rank != 4)
    return invalid_model("{} has {} axes, not 4", ctx.describe_input(0), rank);
  if (const std::int64_t columns = c.rank(1, boxes, 2) == 2 ? c.known_size(boxes, 1) : 0;
      c.ok() && columns >= 0 && columns != 4)
    return invalid_model("{} does not have rows of 4 numbers", ctx.describe_input(1));
  const ValueId x = c.cast(given, DType::f32);
  const auto positions = [&](std::int64_t i) { return c.gather(size, c.number(i), 0); };
  const CropAxis y_axis = crop_axis(c, x, 2, boxes, 0, 2, positions(0));
  const CropAxis x_axis = crop_axis(c, x, 3, boxes, 1, 3, positions(1));
  CropReader reader(c, x, batch, x_axis.size);
  ValueId crop;
  if (mode == "nearest") {
    const auto nearest = [&](ValueId at) {
      return c.op(ops::floor_op, {c.add(at, c.scalar(0.5, DType::f32))});
    };
    crop = reader.at(nearest(y_axis.at), nearest(x_axis.at));
  } else {
    const auto low = [&](const CropAxis& a) { return c.op(ops::floor_op, {a.at}); };
    const auto high = [&](const CropAxis& a) { return c.op(ops::ceil_op, {a.at}); };
    const ValueId top = low(y_axis), left = low(x_axis);
    const ValueId x_share = c.unsqueeze(c.sub(x_axis.at, left), {1, 2});
    const ValueId y_share = c.unsqueeze(c.sub(y_axis.at, top), {1, 3});
    const auto row = [&](ValueId rows) {
      return blended(c, reader.at(rows, left), reader.at(rows, high(x_axis)), x_share);
    };
    crop = blended(c, row(top), row(high(y_axis)), y_share);
  }
  const ValueId inside =
      c.both(c.unsqueeze(y_axis.inside, {1, 3}), c.unsqueeze(x_axis.inside, {1, 2}));
  return c.emit(c.cast(c.where(inside, crop, c.like(outside, crop)), c.dtype(given)));
}

}  // namespace scanloom::onnx
