// DFT, IDFT, RDFT and IRDFT, one axis after another; STFT and ISTFT.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "ops/signal/fourier.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// A spectrum [..., 2] and the axes to transform; `rank` includes the last axis.
struct Spectrum {
  ValueId value;
  int rank = 0;
  LayerComposer::Ints axes;
};

/// Returns operand 1, the axes of a signal with `rank` axes. Errors: no axes, or a duplicate.
LayerComposer::Ints transformed_axes(LayerComposer& c, int rank) {
  const LayerComposer::Ints axes = c.axes(1, rank);
  if (c.ok() && axes.empty()) c.refuse(invalid_model("input 1 names no axes"));
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (axes[i] == axes[k]) c.refuse(invalid_model("input 1 names axis {} twice", axes[i]));
  return axes;
}

/// Returns the length of the signal along axis i of the list: operand 2; if that is -1, `usual`,
/// which may be invalid; invalid if there is no operand 2.
template <class Usual>
ValueId length_of(LayerComposer& c, std::size_t i, const Usual& usual) {
  if (!c.ctx().has(2)) return {};
  if (c.ctx().constant(2) == nullptr) {
    const ValueId size =
        c.gather(c.cast(c.in(2), DType::i64), c.number(static_cast<std::int64_t>(i)), 0);
    return c.where(c.less(size, c.number(0)), usual(), size);
  }
  const LayerComposer::Ints sizes = c.constant_integers(2);
  if (c.ok() && i >= sizes.size())
    c.refuse(invalid_model("input 2 has {} sizes, input 1 more axes", sizes.size()));
  if (!c.ok() || sizes[i] == -1) return {};
  if (sizes[i] < 1)
    c.refuse(invalid_model("input 2 has the size {}, but at least 1 or -1 is needed", sizes[i]));
  return c.number(sizes[i]);
}

/// Transforms complex numbers to complex numbers along axis i of the list.
void transform(LayerComposer& c, Spectrum& spectrum, std::size_t i, bool inverse) {
  const int axis = static_cast<int>(spectrum.axes[i]);
  const ValueId length = length_of(c, i, [&] { return c.dim(spectrum.value, axis); });
  spectrum.value =
      ops::transform_axis(c, spectrum.value, axis, {.length = length, .inverse = inverse});
}

Spectrum complex_input(LayerComposer& c) {
  Spectrum spectrum{.value = c.in(0)};
  spectrum.rank = c.rank(0, spectrum.value, 2);
  const std::int64_t parts = c.known_size(spectrum.value, spectrum.rank - 1);
  if (c.ok() && parts >= 0 && parts != 2)
    c.refuse(invalid_model("the last axis of input 0 has {} elements, not 2", parts));
  spectrum.axes = transformed_axes(c, spectrum.rank - 1);
  return spectrum;
}

Expected<void> transform_all(LayerCtx& ctx, bool inverse) {
  LayerComposer c(ctx);
  Spectrum spectrum = complex_input(c);
  for (std::size_t i = 0; i < spectrum.axes.size() && c.ok(); ++i)
    transform(c, spectrum, i, inverse);
  return c.emit(spectrum.value);
}

}  // namespace

Expected<void> convert_dft(LayerCtx& ctx) { return transform_all(ctx, false); }

Expected<void> convert_idft(LayerCtx& ctx) { return transform_all(ctx, true); }

// Only half of the spectrum is given along the last of the axes.
Expected<void> convert_rdft(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  Spectrum spectrum{.rank = c.rank(0, x, 1) + 1};
  spectrum.axes = transformed_axes(c, spectrum.rank - 1);
  SCANLOOM_CHECK_OK(c.done());
  const std::size_t last = spectrum.axes.size() - 1;
  const int axis = static_cast<int>(spectrum.axes[last]);
  const ValueId length = length_of(c, last, [&] { return c.dim(x, axis); });
  spectrum.value = ops::transform_axis(c, c.unsqueeze(x, {spectrum.rank - 1}), axis,
                                       {.length = length, .onesided = true});
  for (std::size_t i = 0; i < last && c.ok(); ++i) transform(c, spectrum, i, false);
  return c.emit(spectrum.value);
}

Expected<void> convert_irdft(LayerCtx& ctx) {
  LayerComposer c(ctx);
  Spectrum spectrum = complex_input(c);
  SCANLOOM_CHECK_OK(c.done());
  const std::size_t last = spectrum.axes.size() - 1;
  for (std::size_t i = 0; i < last && c.ok(); ++i) transform(c, spectrum, i, true);
  const int axis = static_cast<int>(spectrum.axes[last]);
  const ValueId length = length_of(
      c, last, [&] { return c.mul(c.number(2), c.sub(c.dim(spectrum.value, axis), c.number(1))); });
  const ValueId y = ops::transform_axis(c, spectrum.value, axis,
                                        {.length = length, .inverse = true, .onesided = true});
  return c.emit(c.squeeze(y, {spectrum.rank - 1}));
}

namespace {

/// Returns a scalar operand as i64. Error: a constant below 1.
ValueId positive_in(LayerComposer& c, int i) {
  if (c.ok() && c.ctx().constant(i) != nullptr) {
    const std::int64_t known = c.take(c.ctx().constant_integer(i));
    if (c.ok() && known < 1)
      c.refuse(invalid_model("input {} is {}, but at least 1 is needed", i, known));
    return c.reshape(c.cast(c.in(i), DType::i64), c.list({}));
  }
  const ValueId value = c.reshape(c.cast(c.in(i), DType::i64), c.list({}));
  return ops::checked_positive(c, value, "input " + std::to_string(i));
}

/// Returns the number that input i is if that is constant, otherwise -1.
std::int64_t known_scalar(LayerComposer& c, int i) {
  if (!c.ok() || c.ctx().constant(i) == nullptr) return -1;
  return c.take(c.ctx().constant_integer(i));
}

/// Centres the window in a frame of `length`.
ValueId framed_window(LayerComposer& c, ValueId window, ValueId length) {
  const ValueId missing = c.sub(length, c.dim(window, 0));
  const ValueId before = c.div(missing, c.number(2));
  return c.op(ops::pad_op, {window, c.join({before, c.sub(missing, before)})},
              {{"mode", "constant"}});
}

}  // namespace

// Frames are gathered, weighted with the centred window and transformed all at once. A signal may
// have no batch axis.
Expected<void> convert_stft(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId given = c.in(0), window = c.in(1);
  const int rank = c.rank(0, given, 1);
  SCANLOOM_CHECK_OK(c.done());
  if (rank > 2) return invalid_model("input 0 has {} axes, not 1 or 2", rank);
  const ValueId signal = rank == 1 ? c.unsqueeze(given, {0}) : given;
  ops::Frames frames{.length = positive_in(c, 2),
                     .step = positive_in(c, 3),
                     .known_length = known_scalar(c, 2),
                     .known_step = known_scalar(c, 3)};
  const ValueId weights = framed_window(c, window, frames.length);
  if (frames.known_length <= 0) ops::check_fourier_length(c, frames.length);
  frames.count = ops::count_frames(c, c.dim(signal, 1), frames);
  const ValueId framed = ops::cut_into_frames(c, signal, 2, frames);
  ValueId y = ops::transform_axis(c, c.unsqueeze(c.mul(framed, weights), {3}), 2,
                                  {.length = frames.length, .onesided = true});
  if (c.flag("transpose_frames", false)) y = c.transpose(y, {0, 2, 1, 3});
  return c.emit(rank == 1 ? c.squeeze(y, {0}) : y);
}

// Frames are inverse-transformed all at once, weighted and added at their positions. The result is
// divided by the sum of the squared windows, except where that is 0.
Expected<void> convert_istft(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId given = c.in(0), window = c.in(1);
  const int rank = c.rank(0, given, 3);
  SCANLOOM_CHECK_OK(c.done());
  if (rank > 4) return invalid_model("input 0 has {} axes, not 3 or 4", rank);
  ValueId spectrum = rank == 3 ? c.unsqueeze(given, {0}) : given;
  spectrum = c.transpose(spectrum, {0, 2, 1, 3});  // batch, frame, frequency, part
  const DType dtype = c.dtype(given);
  const ValueId length = positive_in(c, 2), step = positive_in(c, 3), zero = c.number(0);
  const ValueId frames = c.dim(spectrum, 1), batch = c.dim(spectrum, 0);
  const ValueId whole = c.add(c.mul(c.max(c.sub(frames, c.number(1)), zero), step), length);
  const ValueId framed = c.squeeze(
      ops::transform_axis(c, spectrum, 2, {.length = length, .inverse = true, .onesided = true}),
      {3});
  const ValueId weights = framed_window(c, window, length);
  const ValueId positions = c.unsqueeze(ops::frame_positions(c, frames, length, step), {2});
  const auto added = [&](ValueId shape, ValueId updates) {
    return c.op(ops::scatter_nd_op, {c.expand(c.scalar(0, dtype), shape), positions, updates},
                {{"reduction", "add"}});
  };
  ValueId y = added(c.join({whole, batch}), c.transpose(c.mul(framed, weights), {1, 2, 0}));
  const ValueId squares = c.expand(c.mul(weights, weights), c.join({frames, length}));
  ValueId sums = added(c.join({whole}), squares);
  sums = c.unsqueeze(c.where(c.equal(sums, c.like(0, sums)), c.like(1, sums), sums), {1});
  y = c.transpose(c.div(y, sums), {1, 0});
  if (c.flag("normalized", false)) y = c.mul(y, c.sqrt(c.cast(length, dtype)));
  const bool centred = c.flag("center", false);
  const ValueId margin = centred ? c.div(length, c.number(2)) : zero;
  ValueId size = c.sub(whole, c.mul(margin, c.number(2)));
  if (ctx.has(4)) {
    size = c.reshape(c.sizes_in(4), c.list({}));
    const ValueId pads = c.join({zero, zero, zero, c.max(c.sub(c.add(margin, size), whole), zero)});
    y = c.op(ops::pad_op, {y, pads}, {{"mode", "constant"}});
  }
  y = c.slice(y, 1, margin, c.add(margin, size));
  return c.emit(rank == 3 ? c.squeeze(y, {0}) : y);
}

}  // namespace scanloom::openvino
