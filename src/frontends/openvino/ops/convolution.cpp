// Convolution, ConvolutionBackpropData and their forms with groups, whose filters have an axis of
// their own for the groups; DeformableConvolution.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "frontends/openvino/ops/windows.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// Filters [groups, a, b, ...] as [groups * a, b, ...], and how many groups there are.
struct Filters {
  ValueId value;
  std::int64_t groups = 1;
};

Expected<Filters> parted_filters(LayerCtx& ctx, int i) {
  LayerComposer c(ctx);
  const ValueId given = c.in(i);
  c.rank(i, given, 4);
  Filters filters{.groups = c.known_size(given, 0)};
  SCANLOOM_CHECK_OK(c.done());
  if (filters.groups < 1)
    return fail(Code::unsupported, "the number of groups, axis 0 of input {}, is not known", i);
  const ValueId rows = c.mul(c.dim(given, 0), c.dim(given, 1));
  filters.value = c.reshape(given, c.join({rows, c.shape(given, 2)}));
  SCANLOOM_CHECK_OK(c.done());
  return filters;
}

Expected<void> convolve(LayerCtx& ctx, const Filters& filters) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const Windows windows, windows_of(ctx));
  auto attrs = windows.attributes();
  attrs.push_back({"group", filters.groups});
  return ctx.emit(ops::conv_op, {x, filters.value, ValueId()}, std::move(attrs));
}

/// y in those sizes: what is too much is cut off behind, or with `halves` on both sides.
ValueId cut_to(LayerComposer& c, ValueId y, ValueId sizes, bool halves, bool upper) {
  const ValueId surplus = c.sub(c.shape(y, 2), c.cast(sizes, DType::i64));
  const ValueId cut = c.max(surplus, c.list({0})), half = c.div(cut, c.number(2));
  const ValueId begin = halves ? (upper ? c.sub(cut, half) : half) : c.sub(cut, cut);
  const ValueId none = c.list({0, 0});
  const ValueId pads = c.concat({none, c.neg(begin), none, c.sub(begin, surplus)}, 0);
  return c.op(ops::pad_op, {y, pads}, {{"mode", "constant"}});
}

/// Where the sizes of the result are an operand, pads at the end follow from them; and those at the
/// beginning too unless padding is explicit: the greater half for same_upper, the smaller one for
/// others. Without them padding that is not explicit is none.
Expected<void> convolve_back(LayerCtx& ctx, const Filters& filters) {
  LayerComposer c(ctx);
  const ValueId given = c.in(0), sizes = c.optional_in(2);
  const DType dtype = c.dtype(given), wide = ops::at_least_f32(dtype);
  const ValueId x = c.cast(given, wide), w = c.cast(filters.value, wide);
  SCANLOOM_TRY(Windows windows, windows_of(ctx));
  SCANLOOM_TRY(auto extra, ctx.attributes.integers("output_padding"));
  const bool halves = windows.padding != "explicit", upper = windows.padding == "same_upper";
  windows.padding = "explicit";
  if (halves) windows.begin.clear();
  if (sizes.valid()) windows.end.assign(windows.begin.size(), 0);
  const bool known = halves && sizes.valid() && ctx.constant(2) != nullptr;
  // The operator halves the other way round.
  if (known) windows.padding = upper ? "same_lower" : "same_upper";
  auto attrs = windows.attributes();
  attrs.push_back({"group", filters.groups});
  if (!extra.empty()) attrs.push_back({"output_padding", std::move(extra)});
  if (known) attrs.push_back({"output_shape", c.constant_integers(2)});
  ValueId y = c.op(ops::conv_transpose_op, {x, w, ValueId()}, std::move(attrs));
  if (sizes.valid() && !known) y = cut_to(c, y, sizes, halves, upper);
  return c.emit(c.cast(y, dtype));
}

}  // namespace

Expected<void> convert_convolution(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId weights, ctx.in(1));
  return convolve(ctx, {weights, 1});
}

Expected<void> convert_group_convolution(LayerCtx& ctx) {
  SCANLOOM_TRY(const Filters filters, parted_filters(ctx, 1));
  return convolve(ctx, filters);
}

Expected<void> convert_convolution_backprop(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId weights, ctx.in(1));
  return convolve_back(ctx, {weights, 1});
}

Expected<void> convert_group_convolution_backprop(LayerCtx& ctx) {
  SCANLOOM_TRY(const Filters filters, parted_filters(ctx, 1));
  return convolve_back(ctx, filters);
}

}  // namespace scanloom::openvino
