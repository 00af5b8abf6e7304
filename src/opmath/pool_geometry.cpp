#include "opmath/pool_geometry.h"

namespace scanloom::tensor {
namespace {

const Attr& attr_of(std::span<const Attr> attrs, PoolAttr which) {
  return attrs[static_cast<std::size_t>(which)];
}

Expected<PoolPadding> read_padding(const Attr& attr) {
  if (!attr.present() || attr.text() == "explicit") return PoolPadding::given;
  if (attr.text() == "same_upper") return PoolPadding::same_upper;
  if (attr.text() == "same_lower") return PoolPadding::same_lower;
  if (attr.text() == "valid") return PoolPadding::valid;
  return invalid_model("auto_pad is '{}', not one of explicit, same_upper, same_lower, valid",
                       attr.text());
}

}  // namespace

Expected<PoolAttrs> read_pool_attrs(std::span<const Attr> attrs, int spatial) {
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
  std::array<std::int64_t, 2 * kMaxSpatial> pads{};
  SCANLOOM_CHECK_OK(read_window_numbers(attr_of(attrs, PoolAttr::pads), "pads", 0,
                                        std::span(pads).first(2 * count)));
  if (result.padding != PoolPadding::given) return result;
  std::copy_n(pads.begin(), count, result.begin.begin());
  std::copy_n(pads.begin() + spatial, count, result.end.begin());
  return result;
}

Expected<PoolAxis> resolve_pool_axis(const PoolAttrs& attrs, std::size_t i, std::int64_t in) {
  PoolAxis axis{in, 0, attrs.kernel[i], attrs.stride[i], attrs.dilation[i], attrs.begin[i], 0};
  const std::int64_t extent = (axis.kernel - 1) * axis.dilation + 1;
  if (is_same(attrs.padding)) {
    axis.out = (in + axis.stride - 1) / axis.stride;
    const std::int64_t missing =
        std::max<std::int64_t>((axis.out - 1) * axis.stride + extent - in, 0);
    axis.pad = missing / 2 + (attrs.padding == PoolPadding::same_lower ? missing % 2 : 0);
    axis.covered = in + missing;
    return axis;
  }
  axis.covered = in + attrs.begin[i] + attrs.end[i];
  if (axis.covered - extent < -axis.stride)
    return invalid_model("a window over {} elements does not fit into the {} of spatial axis {}",
                         extent, axis.covered, i);
  const std::int64_t round = attrs.ceil ? axis.stride - 1 : 0;
  axis.out = (axis.covered - extent + axis.stride + round) / axis.stride;
  // Windows that begin after the end of x would be empty, so they are dropped.
  if (attrs.ceil) axis.out = std::min(axis.out, (in + axis.pad + axis.stride - 1) / axis.stride);
  return axis;
}

Expected<PoolGeometry> pool_geometry(const Shape& x, std::span<const Attr> attrs) {
  PoolGeometry geometry;
  geometry.spatial = x.rank() - 2;
  SCANLOOM_TRY(const PoolAttrs given, read_pool_attrs(attrs, geometry.spatial));
  for (int i = 0; i < geometry.spatial; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    SCANLOOM_TRY(geometry.axes[axis], resolve_pool_axis(given, axis, x[i + 2]));
  }
  return geometry;
}

}  // namespace scanloom::tensor
