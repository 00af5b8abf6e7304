#include "ops/pool_windows.h"

#include <algorithm>

#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::Attr;
using tensor::Dim;
using tensor::read_window_numbers;
using tensor::Type;

enum class Padding : std::uint8_t { given, same_upper, same_lower, valid };

/// The attributes, checked and complete.
struct PoolAttrs {
  Padding padding = Padding::given;
  bool ceil = false;
  std::array<std::int64_t, tensor::kMaxSpatial> kernel{}, stride{}, dilation{}, begin{}, end{};
};

const Attr& attr_of(std::span<const Attr> attrs, PoolAttr which) {
  return attrs[static_cast<std::size_t>(which)];
}

Expected<Padding> read_padding(const Attr& attr) {
  if (!attr.present() || attr.text() == "explicit") return Padding::given;
  if (attr.text() == "same_upper") return Padding::same_upper;
  if (attr.text() == "same_lower") return Padding::same_lower;
  if (attr.text() == "valid") return Padding::valid;
  return invalid_model("auto_pad is '{}', not one of explicit, same_upper, same_lower, valid",
                       attr.text());
}

Expected<PoolAttrs> read_attrs(std::span<const Attr> attrs, int spatial) {
  const auto count = static_cast<std::size_t>(spatial);
  const auto first = [count](auto& list) { return std::span(list).first(count); };
  PoolAttrs result;
  SCANLOOM_TRY(result.padding, read_padding(attr_of(attrs, PoolAttr::auto_pad)));
  result.ceil = attr_of(attrs, PoolAttr::ceil_mode).integer() != 0;
  SCANLOOM_CHECK_OK(
      read_window_numbers(attr_of(attrs, PoolAttr::kernel), "kernel", 1, first(result.kernel)));
  SCANLOOM_CHECK_OK(
      read_window_numbers(attr_of(attrs, PoolAttr::strides), "strides", 1, first(result.stride)));
  SCANLOOM_CHECK_OK(read_window_numbers(attr_of(attrs, PoolAttr::dilations), "dilations", 1,
                                        first(result.dilation)));
  std::array<std::int64_t, 2 * tensor::kMaxSpatial> pads{};
  SCANLOOM_CHECK_OK(read_window_numbers(attr_of(attrs, PoolAttr::pads), "pads", 0,
                                        std::span(pads).first(2 * count)));
  if (result.padding != Padding::given) return result;
  std::copy_n(pads.begin(), count, result.begin.begin());
  std::copy_n(pads.begin() + spatial, count, result.end.begin());
  return result;
}

bool is_same(Padding padding) {
  return padding == Padding::same_upper || padding == Padding::same_lower;
}

Expected<PoolAxis> resolve_axis(const PoolAttrs& attrs, std::size_t i, std::int64_t in) {
  PoolAxis axis{in, 0, attrs.kernel[i], attrs.stride[i], attrs.dilation[i], attrs.begin[i], 0};
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  if (is_same(attrs.padding)) {
    axis.out = (in + axis.stride - 1) / axis.stride;
    const std::int64_t missing =
        std::max<std::int64_t>((axis.out - 1) * axis.stride + extent - in, 0);
    axis.pad = missing / 2 + (attrs.padding == Padding::same_lower ? missing % 2 : 0);
    axis.covered = in + missing;
    return axis;
  }
  axis.covered = in + attrs.begin[i] + attrs.end[i];
  if (axis.covered - extent < -axis.stride)
    return invalid_model("a window over {} elements does not fit the {} of spatial axis {}", extent,
                         axis.covered, i);
  const std::int64_t round = attrs.ceil ? axis.stride - 1 : 0;
  axis.out = (axis.covered - extent + axis.stride + round) / axis.stride;
  // Windows that start behind x see nothing: there are none.
  if (attrs.ceil) axis.out = std::min(axis.out, (in + axis.pad + axis.stride - 1) / axis.stride);
  return axis;
}

// As resolve_axis, with a size that need not be a number.
Dim out_size(ir::InferCtx& ctx, const PoolAttrs& attrs, std::size_t i, Dim in) {
  tensor::DimTable& dims = ctx.dims();
  const std::int64_t stride = attrs.stride[i];
  if (is_same(attrs.padding)) return dims.floor_div(dims.add(in, stride - 1), stride);
  const std::int64_t extent = (attrs.kernel[i] - 1) * attrs.dilation[i] + 1;
  const std::int64_t outside = attrs.begin[i] + attrs.end[i] - extent + stride;
  const Dim floor = dims.floor_div(dims.add(in, outside), stride);
  if (!attrs.ceil) return floor;
  const Dim ceil = dims.floor_div(dims.add(in, outside + stride - 1), stride);
  const Dim starting = dims.floor_div(dims.add(in, attrs.begin[i] + stride - 1), stride);
  return dims.min(ceil, starting);
}

}  // namespace

Expected<PoolGeometry> pool_geometry(const tensor::Shape& x, std::span<const Attr> attrs) {
  PoolGeometry geometry;
  geometry.spatial = x.rank() - 2;
  SCANLOOM_TRY(const PoolAttrs given, read_attrs(attrs, geometry.spatial));
  for (int i = 0; i < geometry.spatial; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    SCANLOOM_TRY(geometry.axes[axis], resolve_axis(given, axis, x[i + 2]));
  }
  return geometry;
}

Expected<Type> pooled_type(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (!x.ranked) return Type::unranked(x.dtype);
  if (x.rank() < 3) return invalid_model("x has {} axes, three at least are needed", x.rank());
  SCANLOOM_TRY(const PoolAttrs attrs, read_attrs(ctx.attrs(), x.rank() - 2));
  std::vector<Dim> sizes = {x.dims[0], x.dims[1]};
  for (std::size_t axis = 0; axis + 2 < x.dims.size(); ++axis) {
    const Dim in = x.dims[axis + 2];
    if (in.is_constant()) {
      SCANLOOM_TRY(const PoolAxis resolved, resolve_axis(attrs, axis, in.value()));
      sizes.emplace_back(resolved.out);
    } else {
      sizes.push_back(out_size(ctx, attrs, axis, in));
    }
  }
  return Type::of(x.dtype, std::move(sizes));
}

}  // namespace scanloom::ops
