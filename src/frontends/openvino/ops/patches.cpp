// ExtractImagePatches, Col2Im; Inverse.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/layer_composer.h"
#include "frontends/openvino/ops/windows.h"
#include "opmath/conv_geometry.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// The patches along one axis: `size` elements at distance `rate`, every `stride`.
struct Patches {
  std::int64_t size = 1, stride = 1, rate = 1;
  std::string padding;

  [[nodiscard]] std::int64_t extent() const { return (size - 1) * rate + 1; }
};

/// The elements [patches, size] taken from an axis with `in` elements. They count from the start of
/// the padding, which is `begin` elements before the axis and `end` after it.
struct Taken {
  ValueId elements, begin, end;
};

Taken taken_elements(ops::Composer& c, ValueId in, const Patches& patches) {
  const ValueId zero = c.number(0), stride = c.number(patches.stride);
  const ValueId extent = c.number(patches.extent());
  Taken taken{.begin = zero, .end = zero};
  ValueId count;
  if (patches.padding == "valid") {
    count = c.max(c.div(c.add(c.sub(in, extent), stride), stride), zero);
  } else {
    count = c.div(c.sub(c.add(in, stride), c.number(1)), stride);
    const ValueId reached = c.add(c.mul(c.sub(count, c.number(1)), stride), extent);
    const ValueId missing = c.max(c.sub(reached, in), zero);
    const ValueId half = c.div(missing, c.number(2)), rest = c.sub(missing, half);
    taken.begin = patches.padding == "same_upper" ? half : rest;
    taken.end = c.sub(missing, taken.begin);
  }
  const ValueId start = c.unsqueeze(c.mul(c.count_up(count), stride), {1});
  taken.elements = c.add(start, c.mul(c.count_up(c.number(patches.size)), c.number(patches.rate)));
  return taken;
}

Expected<Patches> patches_of(LayerCtx& ctx, std::size_t axis) {
  Patches patches;
  struct List {
    const char* name;
    std::int64_t* value;
  };
  for (const List& list : {List{"sizes", &patches.size}, List{"strides", &patches.stride},
                           List{"rates", &patches.rate}}) {
    SCANLOOM_TRY(const auto values, ctx.attributes.integers(list.name));
    if (values.size() != 2)
      return invalid_model("attribute '{}' has {} numbers, not 2", list.name, values.size());
    *list.value = values[axis];
    if (*list.value < 1 || *list.value >= tensor::kMaxParameter)
      return invalid_model("attribute '{}' has {}, outside [1, {})", list.name, *list.value,
                           tensor::kMaxParameter);
  }
  SCANLOOM_TRY(patches.padding,
               ctx.attributes.choice("auto_pad", "", {"valid", "same_upper", "same_lower"}));
  if (patches.padding.empty()) return invalid_model("attribute 'auto_pad' is missing");
  return patches;
}

}  // namespace

// Turns [batch, channels, rows, columns] into [batch, size * size * channels, patches, patches].
Expected<void> convert_extract_image_patches(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.in(0);
  const int rank = c.rank(0, x);
  SCANLOOM_CHECK_OK(c.done());
  if (rank != 4) return invalid_model("input 0 has {} axes, not 4", rank);
  SCANLOOM_TRY(const Patches down, patches_of(ctx, 0));
  SCANLOOM_TRY(const Patches across, patches_of(ctx, 1));
  const Taken rows = taken_elements(c, c.dim(x, 2), down);
  const Taken columns = taken_elements(c, c.dim(x, 3), across);
  const ValueId pads = c.join({rows.begin, columns.begin, rows.end, columns.end});
  const ValueId padded =
      c.op(ops::pad_op, {x, pads, ValueId(), c.list({2, 3})}, {{"mode", "constant"}});
  // [batch, channels, patches, size, patches, size]
  const ValueId parts = c.gather(c.gather(padded, columns.elements, 3), rows.elements, 2);
  const ValueId ordered = c.transpose(parts, {0, 3, 5, 1, 2, 4});
  const ValueId depth = c.mul(c.number(down.size * across.size), c.dim(x, 1));
  return c.emit(c.reshape(ordered, c.join({c.dim(x, 0), depth, c.dim(parts, 2), c.dim(parts, 4)})));
}

// A single image may have no batch axis.
Expected<void> convert_col2im(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId given = c.in(0);
  const int rank = c.rank(0, given, 2);
  SCANLOOM_CHECK_OK(c.done());
  if (rank > 3) return invalid_model("input 0 has {} axes, not 2 or 3", rank);
  const DType dtype = c.dtype(given);
  ValueId x = is_floating_point(dtype) ? c.wide_in(0) : given;
  if (rank == 2) x = c.unsqueeze(x, {0});
  SCANLOOM_TRY(const Windows windows, windows_of(ctx));
  std::vector<ir::NamedAttr> attrs = windows.attributes();
  attrs.erase(attrs.begin());  // auto_pad, which the operator lacks
  const ValueId image = c.sizes_in(1), block = c.sizes_in(2);
  ValueId y = c.op(ops::col2im_op, {x, image, block}, std::move(attrs));
  if (rank == 2) y = c.squeeze(y, {0});
  return c.emit(c.cast(y, dtype));
}

// With attribute adjoint, inverts the transposed matrices.
Expected<void> convert_inverse(LayerCtx& ctx) {
  LayerComposer c(ctx);
  const ValueId x = c.wide_in(0);
  c.rank(0, x, 2);
  const bool adjoint = c.flag("adjoint", false);
  SCANLOOM_CHECK_OK(c.done());
  SCANLOOM_TRY(const ir::NodeId made, ctx.builder().node(ops::lu_factor_op, {x}, {}, 2));
  const std::vector<ValueId> factors = ctx.module().node(made).outputs;
  const ValueId y = c.op(ops::lu_solve_op, {factors[0], factors[1], ValueId(), ValueId()},
                         {{"transposed", adjoint}});
  return c.emit(c.cast(y, c.dtype(c.in(0))));
}

}  // namespace scanloom::openvino
