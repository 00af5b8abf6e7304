// Convolution, ConvolutionBackpropData and their grouped forms, whose filters have a separate axis
// for the groups; DeformableConvolution.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "frontends/openvino/ops/windows.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// Filters [groups, a, b, ...] reshaped to [groups * a, b, ...], and the number of groups.
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

/// Crops y to the given sizes: at the end or, with `both_sides`, at the beginning as well.
ValueId cut_to(LayerComposer& c, ValueId y, ValueId sizes, bool both_sides, bool upper) {
  const ValueId surplus = c.sub(c.shape(y, 2), c.cast(sizes, DType::i64));
  const ValueId cut = c.max(surplus, c.list({0})), half = c.div(cut, c.number(2));
  const ValueId begin = both_sides ? (upper ? c.sub(cut, half) : half) : c.sub(cut, cut);
  const ValueId none = c.list({0, 0});
  const ValueId pads = c.concat({none, c.neg(begin), none, c.sub(begin, surplus)}, 0);
  return c.op(ops::pad_op, {y, pads}, {{"mode", "constant"}});
}

/// If the sizes of the result are an operand, they determine the pads at the end and, unless
/// padding is explicit, those at the beginning: the larger half for same_upper, otherwise the
/// smaller one. Without that operand, padding that is not explicit is 0.
Expected<void> convolve_back(LayerCtx& ctx, const Filters& filters) {
  LayerComposer c(ctx);
  const ValueId given = c.in(0), sizes = c.optional_in(2);
  const DType dtype = c.dtype(given), wide = ops::at_least_f32(dtype);
  const ValueId x = c.cast(given, wide), w = c.cast(filters.value, wide);
  SCANLOOM_TRY(Windows windows, windows_of(ctx));
  SCANLOOM_TRY(auto extra, ctx.attributes.integers("output_padding"));
  const bool both_sides = windows.padding != "explicit", upper = windows.padding == "same_upper";
  windows.padding = "explicit";
  if (both_sides) windows.begin.clear();
  if (sizes.valid()) windows.end.assign(windows.begin.size(), 0);
  const bool known = both_sides && sizes.valid() && ctx.constant(2) != nullptr;
  // The operator puts the larger half on the other side.
  if (known) windows.padding = upper ? "same_lower" : "same_upper";
  auto attrs = windows.attributes();
  attrs.push_back({"group", filters.groups});
  if (!extra.empty()) attrs.push_back({"output_padding", std::move(extra)});
  if (known) attrs.push_back({"output_shape", c.constant_integers(2)});
  ValueId y = c.op(ops::conv_transpose_op, {x, w, ValueId()}, std::move(attrs));
  if (sizes.valid() && !known) y = cut_to(c, y, sizes, both_sides, upper);
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

namespace {

/// One axis of a deformable convolution: the undeformed positions of its windows.
struct DeformedAxis {
  std::int64_t stride = 1, dilation = 1, begin = 0;
  int axis = 2;  // of x and the filters
};

/// Returns the padding at the beginning, which may depend on the sizes.
ValueId padding_before(ops::Composer& c, const DeformedAxis& along, const Windows& windows,
                       ValueId size, ValueId kernel, ValueId out) {
  if (windows.padding == "explicit") return c.number(along.begin);
  const ValueId one = c.number(1);
  const ValueId extent = c.add(c.mul(c.sub(kernel, one), c.number(along.dilation)), one);
  const ValueId reached = c.add(c.mul(c.sub(out, one), c.number(along.stride)), extent);
  const ValueId missing = c.max(c.sub(reached, size), c.number(0));
  const ValueId half = c.div(missing, c.number(2));
  return windows.padding == "same_upper" ? half : c.sub(missing, half);
}

/// Offsets along one axis, [batch, groups, positions, rows, columns], changed so that no sample is
/// outside of x, and whether the sample was inside before.
struct Kept {
  ValueId offset, inside;
};

Kept kept_inside(LayerComposer& c, const DeformedAxis& along, const Windows& windows,
                 ValueId offset, ValueId position) {
  const ValueId x = c.in(0), size = c.dim(x, along.axis);
  const ValueId out = c.dim(offset, along.axis + 1);
  const ValueId before = padding_before(c, along, windows, size, c.dim(c.in(2), along.axis), out);
  const ValueId taps = c.sub(c.mul(position, c.number(along.dilation)), before);
  const ValueId windows_at = c.mul(c.count_up(out), c.number(along.stride));
  const ValueId spread = along.axis == 2 ? c.unsqueeze(windows_at, {1}) : windows_at;
  const ValueId base = c.cast(c.add(c.unsqueeze(taps, {1, 2}), spread), c.dtype(offset));
  const ValueId coordinate = c.add(base, offset), zero = c.like(0, offset);
  const ValueId limit = c.cast(size, c.dtype(offset));
  const ValueId last = c.sub(limit, c.like(1, offset));
  return {c.sub(c.max(c.min(coordinate, last), zero), base),
          c.both(c.less_equal(zero, coordinate), c.less(coordinate, limit))};
}

/// Disables interpolation into the padding: samples outside of x are 0, and between the last
/// element and its end x is constant. `operands` are x, filters, offsets, bias, mask.
Expected<void> keep_inside(LayerComposer& c, const Windows& given, std::int64_t groups,
                           std::vector<ValueId>& operands) {
  Windows windows = given;
  SCANLOOM_CHECK_OK(complete(windows, 2));
  const ValueId offsets = operands[2], mask = operands[4];
  const ValueId columns = c.dim(operands[1], 3), taps = c.mul(c.dim(operands[1], 2), columns);
  const ValueId batch = c.dim(offsets, 0), count = c.number(groups);
  const ValueId parted =
      c.reshape(offsets, c.join({batch, count, taps, c.number(2), c.shape(offsets, 2)}));
  const ValueId tap = c.count_up(taps);
  const auto axis = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    const DeformedAxis along{windows.strides[at], windows.dilations[at], windows.begin[at], i + 2};
    const ValueId offset = c.squeeze(c.slice(parted, 3, i, i + 1), {3});
    return kept_inside(c, along, windows, offset,
                       i == 0 ? c.div(tap, columns) : c.mod(tap, columns));
  };
  const Kept down = axis(0), across = axis(1);
  operands[2] =
      c.reshape(c.concat({c.unsqueeze(down.offset, {3}), c.unsqueeze(across.offset, {3})}, 3),
                c.shape(offsets));
  const ValueId inside = c.cast(c.both(down.inside, across.inside), c.dtype(offsets));
  const ValueId per_tap =
      c.reshape(inside, c.join({batch, c.mul(count, taps), c.shape(offsets, 2)}));
  operands[4] = mask.valid() ? c.mul(mask, per_tap) : per_tap;
  return c.done();
}

}  // namespace

// Since opset 8 there may be a mask, and samples that reach into the padding may count in part.
Expected<void> convert_deformable_convolution(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0);
  const auto same = [&](int i) { return ctx.has(i) ? c.cast(c.in(i), c.dtype(x)) : ValueId{}; };
  std::vector<ValueId> operands = {x, same(2), same(1), {}, same(3)};
  SCANLOOM_CHECK_OK(c.done());
  const int rank = c.rank(0, x);
  SCANLOOM_CHECK_OK(c.done());
  if (rank != 4) return invalid_model("input 0 has {} axes, not 4", rank);
  SCANLOOM_TRY(const Windows windows, windows_of(ctx));
  const std::int64_t groups = c.integer("deformable_group", 1);
  if (groups < 1)
    return invalid_model("attribute 'deformable_group' is {}, but must be at least 1", groups);
  if (ctx.version() < 8 || !c.flag("bilinear_interpolation_pad", false))
    SCANLOOM_CHECK_OK(keep_inside(c, windows, groups, operands));
  auto attrs = windows.attributes();
  attrs.push_back({"group", c.integer("group", 1)});
  attrs.push_back({"offset_group", groups});
  const ValueId y = c.op(ops::deform_conv_op, std::move(operands), std::move(attrs));
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

// Elements and filters are bits; a result is the number of those that are equal in its window minus
// that of the others. An element that is neither 0 nor 1 equals nothing.
Expected<void> convert_binary_convolution(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0), filters = c.cast(c.in(1), c.dtype(x));
  const int rank = c.rank(0, x, 3);
  c.choice("mode", "xnor-popcount", {"xnor-popcount"});
  SCANLOOM_TRY(const double padding, ctx.attributes.real("pad_value"));
  SCANLOOM_TRY(Windows windows, windows_of(ctx));
  SCANLOOM_CHECK_OK(c.done());
  const ValueId one = c.like(1, x), zero = c.like(0, x);
  const auto equal = [&](ValueId to) { return c.cast(c.equal(x, to), c.dtype(x)); };
  const ValueId bits = c.concat({equal(zero), equal(one)}, 1);
  const ValueId pairs = c.concat({c.sub(one, filters), filters}, 1);
  const auto convolved = [&](ValueId from, ValueId by) {
    return c.op(ops::conv_op, {from, by, ValueId()}, windows.attributes());
  };
  ValueId count = convolved(bits, pairs);
  if (padding == 0 || padding == 1) {
    // Where windows reach beyond the edge, a convolution of ones counts the elements inside.
    const ValueId own = padding == 1 ? filters : c.sub(one, filters);
    const ValueId inside = convolved(c.expand(one, c.shape(x)), own);
    const ValueId all = c.reduce(own, "sum", ops::axes_between(1, rank));
    const ValueId by_filter = c.reshape(
        all, c.join({c.dim(filters, 0),
                     c.list(ops::Composer::Ints(static_cast<std::size_t>(rank - 2), 1))}));
    count = c.add(count, c.sub(by_filter, inside));
  }
  const ValueId size = c.cast(c.reduce_all(c.shape(filters, 1), "prod"), c.dtype(x));
  const ValueId y = c.sub(c.mul(c.like(2, count), count), size);
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

}  // namespace scanloom::openvino
