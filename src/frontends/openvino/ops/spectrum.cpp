// DFT, IDFT, RDFT and IRDFT, one axis after the other.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "ops/fourier.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// A spectrum [..., 2] and the axes to be transformed; `rank` counts the axis of the parts.
struct Spectrum {
  ValueId value;
  int rank = 0;
  LayerComposer::Ints axes;
};

/// Attribute-like operand 1; axes count those of a signal of `rank` axes. Errors: none, or twice
/// the same.
LayerComposer::Ints transformed_axes(LayerComposer& c, int rank) {
  const LayerComposer::Ints axes = c.axes(1, rank);
  if (c.ok() && axes.empty()) c.refuse(invalid_model("input 1 names no axes"));
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (axes[i] == axes[k]) c.refuse(invalid_model("input 1 names axis {} twice", axes[i]));
  return axes;
}

/// How long the signal along the axis is: operand 2, or where that is -1 or absent `usual`.
ValueId length_of(LayerComposer& c, std::size_t i, ValueId usual) {
  if (!c.ctx().has(2)) return usual;
  if (c.ctx().constant(2) == nullptr) {
    const ValueId size =
        c.gather(c.cast(c.in(2), DType::i64), c.number(static_cast<std::int64_t>(i)), 0);
    return c.where(c.less(size, c.number(0)), usual, size);
  }
  const LayerComposer::Ints sizes = c.constant_integers(2);
  if (c.ok() && i >= sizes.size())
    c.refuse(invalid_model("input 2 has {} sizes, input 1 more axes", sizes.size()));
  if (!c.ok() || sizes[i] == -1) return usual;
  if (sizes[i] < 1)
    c.refuse(invalid_model("input 2 has the size {}, at least 1 or -1 is needed", sizes[i]));
  return c.number(sizes[i]);
}

/// Complex numbers to complex numbers along axis i of the list.
void transform(LayerComposer& c, Spectrum& spectrum, std::size_t i, bool inverse) {
  const int axis = static_cast<int>(spectrum.axes[i]);
  const ValueId size = c.dim(spectrum.value, axis);
  ops::Transform t{.length = length_of(c, i, size), .inverse = inverse, .input_parts = 2};
  t.inputs = c.min(size, t.length);
  t.outputs = t.length;
  spectrum.value = ops::transform_axis(c, spectrum.value, spectrum.rank, axis, t);
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

// The last one of the axes is the one whose spectrum is given by half.
Expected<void> convert_rdft(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  Spectrum spectrum{.rank = c.rank(0, x, 1) + 1};
  spectrum.axes = transformed_axes(c, spectrum.rank - 1);
  SCANLOOM_CHECK_OK(c.done());
  const std::size_t last = spectrum.axes.size() - 1;
  const int axis = static_cast<int>(spectrum.axes[last]);
  const ValueId size = c.dim(x, axis);
  ops::Transform t{.length = length_of(c, last, size), .onesided = true};
  t.inputs = c.min(size, t.length);
  t.outputs = ops::half_up(c, t.length);
  spectrum.value =
      ops::transform_axis(c, c.unsqueeze(x, {spectrum.rank - 1}), spectrum.rank, axis, t);
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
  const ValueId size = c.dim(spectrum.value, axis);
  const ValueId usual = c.mul(c.number(2), c.sub(size, c.number(1)));
  ops::Transform t{.length = length_of(c, last, usual),
                   .inverse = true,
                   .onesided = true,
                   .input_parts = 2,
                   .output_parts = 1};
  t.inputs = c.min(size, ops::half_up(c, t.length));
  t.outputs = t.length;
  const ValueId y = ops::transform_axis(c, spectrum.value, spectrum.rank, axis, t);
  return c.emit(c.squeeze(y, {spectrum.rank - 1}));
}

}  // namespace scanloom::openvino
