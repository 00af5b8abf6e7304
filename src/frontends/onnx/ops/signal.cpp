// DFT, STFT, windows and MelWeightMatrix. Anything that does not depend on data is computed once,
// when sizes are bound or folded.
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "ops/signal/fourier.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using ops::kPi;
using ops::Transform;

/// Returns a scalar operand as i64.
ValueId scalar_operand(Composer& c, ValueId x) {
  return c.reshape(c.cast(x, DType::i64), c.list({}));
}

/// Returns the number that input i is if that is constant, otherwise -1.
std::int64_t known_scalar(Composer& c, int i) {
  const tensor::Tensor* const known = c.ctx().constant(i);
  const auto numbers = known == nullptr ? std::nullopt : tensor::to_integers(*known);
  return numbers && numbers->size() == 1 ? numbers->front() : -1;
}

/// Like scalar_operand() for input i, with an error if it is below 1; `what` it is.
ValueId positive_operand(Composer& c, int i, std::string_view what) {
  const tensor::Tensor* const known = c.ctx().constant(i);
  const auto numbers = known == nullptr ? std::nullopt : tensor::to_integers(*known);
  if (numbers && numbers->size() == 1 && numbers->front() < 1)
    c.refuse(invalid_model("{} is {}, but at least 1 is needed", c.ctx().describe_input(i),
                           numbers->front()));
  const ValueId value = scalar_operand(c, c.in(i));
  return numbers ? value : ops::checked_positive(c, value, std::string(what));
}

/// Returns the size of the last axis: 1 for real numbers, 2 for real and imaginary parts, 0 if only
/// the run knows it, which then checks it.
int parts_of(Composer& c, ValueId x, int rank) {
  const std::int64_t parts = c.known_size(x, rank - 1);
  if (c.ok() && parts >= 0 && parts != 1 && parts != 2)
    c.refuse(invalid_model("the last axis of {} has {} elements, not 1 or 2",
                           c.ctx().describe_input(0), parts));
  return parts < 0 ? 0 : static_cast<int>(parts);
}

/// Returns the axis if it is known: an attribute in version 17, an operand since 20. nullopt if it
/// is computed.
Expected<std::optional<int>> known_axis(NodeCtx& ctx, int rank) {
  std::int64_t axis = -2;
  if (ctx.version() < 20) {
    SCANLOOM_TRY(axis, ctx.integer("axis", 1));
  } else if (ctx.has(2)) {
    if (ctx.constant(2) == nullptr) return std::optional<int>();
    SCANLOOM_TRY(const auto given, ctx.constant_integers(2));
    if (given->size() != 1)
      return invalid_model("{} has {} elements, not 1", ctx.describe_input(2), given->size());
    axis = given->front();
  }
  const auto normal = tensor::normalise_axis(axis, rank);
  if (!normal || *normal == rank - 1)
    return invalid_model(
        "axis {} is not an axis of a signal with {} axes, the last of which holds the parts", axis,
        rank);
  return std::optional<int>(*normal);
}

/// The signal as [before, along, after, parts], for an axis known only at run time.
struct Regrouped {
  ValueId signal;
  ValueId before, after;  ///< the sizes of the axes, as lists
};

Regrouped regroup(Composer& c, ValueId x, int rank) {
  const ValueId given = scalar_operand(c, c.in(2)), zero = c.number(0);
  const ValueId axis = c.where(c.less(given, zero), c.add(given, c.number(rank)), given);
  const ValueId shape = c.shape(x), last = c.number(rank - 1);
  Regrouped result;
  result.before = c.slice(shape, 0, zero, axis);
  result.after = c.slice(shape, 0, c.add(axis, c.number(1)), last);
  // The last axis, and any after it, is refused.
  const ValueId along = c.gather(c.slice(shape, 0, zero, last), axis, 0);
  result.signal = c.reshape(x, c.join({c.reduce_all(result.before, "prod"), along,
                                       c.reduce_all(result.after, "prod"), c.dim(x, rank - 1)}));
  return result;
}

Transform dft_of(Composer& c, ValueId x, int rank) {
  Transform t{.inverse = c.integer("inverse", 0) != 0, .onesided = c.integer("onesided", 0) != 0};
  if (parts_of(c, x, rank) == 2 && t.onesided && !t.inverse)
    c.refuse(invalid_model("a one-sided spectrum needs a real signal, but {} has imaginary parts",
                           c.ctx().describe_input(0)));
  if (c.ctx().has(1)) t.length = positive_operand(c, 1, "the length of a transform");
  return t;
}

}  // namespace

Expected<void> convert_dft(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x, 2);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const std::optional<int> axis, known_axis(ctx, rank));
  const Transform t = dft_of(c, x, rank);
  if (axis) return c.emit(ops::transform_axis(c, x, *axis, t));
  const Regrouped groups = regroup(c, x, rank);
  const ValueId y = ops::transform_axis(c, groups.signal, 1, t);
  return c.emit(c.reshape(y, c.join({groups.before, c.dim(y, 1), groups.after, c.dim(y, 3)})));
}

// All frames are gathered, weighted and transformed at once.
Expected<void> convert_stft(NodeCtx& ctx) {
  Composer c(ctx);
  ValueId signal = c.in(0);
  const ValueId window = c.optional_in(2);
  int rank = c.rank(0, signal, 2);
  // onnxruntime also takes a real signal that lacks the axis of its parts, and models rely on it.
  if (c.ok() && rank == 2) signal = c.unsqueeze(signal, {rank++});
  if (c.ok() && rank != 3)
    return invalid_model("{} has {} axes, not 2 or 3", ctx.describe_input(0), rank);
  ops::Frames frames{.step = positive_operand(c, 1, "the step of frames"),
                     .known_step = known_scalar(c, 1)};
  const Transform t{.onesided = c.integer("onesided", 1) != 0};
  if (parts_of(c, signal, rank) == 2 && t.onesided)
    return invalid_model("a one-sided spectrum needs a real signal, but {} has imaginary parts",
                         ctx.describe_input(0));
  const ValueId size_of = window.valid() ? window : signal;
  const int axis = window.valid() ? 0 : 1;
  frames.length =
      ctx.has(3) ? positive_operand(c, 3, "the length of frames") : c.dim(size_of, axis);
  frames.known_length = ctx.has(3) ? known_scalar(c, 3) : c.known_size(size_of, axis);
  if (ctx.has(3) && frames.known_length <= 0) ops::check_fourier_length(c, frames.length);
  frames.count = ops::count_frames(c, c.dim(signal, 1), frames);
  ValueId framed = ops::cut_into_frames(c, signal, rank, frames);  // [batch, frames, length, parts]
  if (window.valid()) framed = c.mul(framed, c.unsqueeze(window, {1}));
  return c.emit(ops::transform_axis(c, framed, 2, t));
}

namespace {

/// cos(2 pi n harmonic / count), in f64.
ValueId window_cosine(Composer& c, ValueId n, ValueId count, double harmonic) {
  return c.cos(c.div(c.mul(n, c.scalar(2 * kPi * harmonic, DType::f64)), count));
}

}  // namespace

// offset - first * cos(2 pi n / N) + second * cos(4 pi n / N), where N is the size, or size - 1 for
// a symmetric window.
Expected<void> convert_cosine_window(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId size = scalar_operand(c, c.in(0));
  const DType dtype = c.dtype_attribute("output_datatype", DType::f32);
  const bool periodic = c.integer("periodic", 1) != 0;
  struct Shape {
    double offset, first, second;
  } shape{.offset = 0.5, .first = 0.5, .second = 0};
  if (ctx.op_type() == "HammingWindow")
    shape = {.offset = 25.0 / 46, .first = 1 - 25.0 / 46, .second = 0};
  if (ctx.op_type() == "BlackmanWindow") shape = {.offset = 0.42, .first = 0.5, .second = 0.08};
  const ValueId n = c.cast(c.count_up(size), DType::f64);
  const ValueId count = c.cast(periodic ? size : c.sub(size, c.number(1)), DType::f64);
  ValueId y = c.sub(c.scalar(shape.offset, DType::f64),
                    c.mul(c.scalar(shape.first, DType::f64), window_cosine(c, n, count, 1)));
  if (shape.second != 0)
    y = c.add(y, c.mul(c.scalar(shape.second, DType::f64), window_cosine(c, n, count, 2)));
  return c.emit(c.cast(y, dtype));
}

namespace {

/// 2595 log10(1 + hertz / 700), in f64.
ValueId mel_of(Composer& c, ValueId hertz) {
  const ValueId ratio = c.div(hertz, c.scalar(700, DType::f64));
  return c.mul(c.scalar(2595 / std::log(10.0), DType::f64),
               c.log(c.add(c.scalar(1, DType::f64), ratio)));
}

/// 700 (10^(mel / 2595) - 1).
ValueId hertz_of(Composer& c, ValueId mel) {
  const ValueId power = c.exp(c.mul(mel, c.scalar(std::log(10.0) / 2595, DType::f64)));
  return c.mul(c.scalar(700, DType::f64), c.sub(power, c.scalar(1, DType::f64)));
}

ValueId hertz_operand(Composer& c, int i) {
  return c.reshape(c.cast(c.in(i), DType::f64), c.list({}));
}

/// Returns the bins at which the triangles start, peak and end: count + 2 of them.
ValueId mel_edges(Composer& c, ValueId bands, ValueId dft_length) {
  const ValueId rate = c.cast(scalar_operand(c, c.in(2)), DType::f64);
  const ValueId low = mel_of(c, hertz_operand(c, 3)), high = mel_of(c, hertz_operand(c, 4));
  const ValueId count = c.add(bands, c.number(2));
  const ValueId step = c.div(c.sub(high, low), c.cast(count, DType::f64));
  const ValueId mel = c.add(c.mul(c.cast(c.count_up(count), DType::f64), step), low);
  const ValueId bins = c.cast(c.add(dft_length, c.number(1)), DType::f64);
  const ValueId edges = c.op(ops::floor_op, {c.div(c.mul(bins, hertz_of(c, mel)), rate)});
  return c.cast(edges, DType::i64);
}

}  // namespace

// Column i is a triangle over the bins: rising from edge i to edge i + 1, falling to edge i + 2.
Expected<void> convert_mel_weight_matrix(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId bands = scalar_operand(c, c.in(0)), dft_length = scalar_operand(c, c.in(1));
  const DType dtype = c.dtype_attribute("output_datatype", DType::f32);
  const ValueId edges = mel_edges(c, bands, dft_length);
  const ValueId one = c.number(1), two = c.number(2), zero = c.number(0);
  const ValueId begin = c.slice(edges, 0, zero, bands);
  const ValueId peak = c.slice(edges, 0, one, c.add(bands, one));
  const ValueId end = c.slice(edges, 0, two, c.add(bands, two));
  const ValueId bin = c.unsqueeze(c.count_up(ops::half_up(c, dft_length)), {1});
  const auto ratio = [&](ValueId a, ValueId b) {
    return c.div(c.cast(a, DType::f64), c.cast(b, DType::f64));
  };
  const ValueId none = c.scalar(0, DType::f64), full = c.scalar(1, DType::f64);
  const ValueId climbs = c.both(c.less_equal(begin, bin), c.less_equal(bin, peak));
  const ValueId up = c.where(c.equal(begin, peak), c.where(c.equal(bin, peak), full, none),
                             c.where(climbs, ratio(c.sub(bin, begin), c.sub(peak, begin)), none));
  const ValueId falls = c.both(c.less_equal(peak, bin), c.less(bin, end));
  const ValueId y = c.where(falls, ratio(c.sub(end, bin), c.sub(end, peak)), up);
  return c.emit(c.cast(y, dtype));
}

}  // namespace scanloom::onnx
