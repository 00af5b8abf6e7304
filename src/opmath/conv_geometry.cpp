#include "opmath/conv_geometry.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace scanloom::tensor {
namespace {

const Attr& attr_of(std::span<const Attr> attrs, ConvAttr which) {
  return attrs[static_cast<std::size_t>(which)];
}

Expected<AutoPad> read_auto_pad(const Attr& attr) {
  if (!attr.present()) return AutoPad::explicit_pads;
  const std::string_view text = attr.text();
  if (text == "explicit") return AutoPad::explicit_pads;
  if (text == "same_upper") return AutoPad::same_upper;
  if (text == "same_lower") return AutoPad::same_lower;
  if (text == "valid") return AutoPad::valid;
  return invalid_model("auto_pad is '{}', not one of explicit, same_upper, same_lower, valid",
                       text);
}

Expected<void> resolve_axis(ConvGeometry& geometry, const ConvAttrs& attrs, std::size_t axis) {
  const std::int64_t stride = attrs.stride[axis], in = geometry.in[axis];
  const std::int64_t extent = (geometry.kernel[axis] - 1) * attrs.dilation[axis] + 1;
  if (attrs.auto_pad == AutoPad::same_upper || attrs.auto_pad == AutoPad::same_lower) {
    const std::int64_t out = (in + stride - 1) / stride;
    const std::int64_t missing = std::max<std::int64_t>((out - 1) * stride + extent - in, 0);
    const std::int64_t odd = attrs.auto_pad == AutoPad::same_lower ? missing % 2 : 0;
    geometry.out[axis] = out;
    geometry.pad[axis] = missing / 2 + odd;
    return {};
  }
  // One position too few gives an empty result; a kernel that lacks more than that does not fit.
  const std::int64_t covered = in + attrs.pad_begin[axis] + attrs.pad_end[axis];
  if (covered - extent < -stride)
    return invalid_model("a kernel over {} elements does not fit into the {} of spatial axis {}",
                         extent, covered, axis);
  geometry.out[axis] = (covered - extent + stride) / stride;
  geometry.pad[axis] = attrs.pad_begin[axis];
  return {};
}

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t count = 1;
  for (const std::int64_t size : sizes) count *= size;
  return count;
}

}  // namespace

Expected<void> read_window_numbers(const Attr& attr, std::string_view name, std::int64_t least,
                                   std::span<std::int64_t> result) {
  std::ranges::fill(result, least);
  if (!attr.present()) return {};
  const std::vector<std::int64_t>& given = attr.integers();
  if (given.size() != result.size())
    return invalid_model("{} has {} numbers, not {}", name, given.size(), result.size());
  for (const std::int64_t number : given)
    if (number < least || number >= kMaxParameter)
      return invalid_model("{} has the number {}, outside [{}, {})", name, number, least,
                           kMaxParameter);
  std::ranges::copy(given, result.begin());
  return {};
}

Expected<ConvAttrs> read_conv_attrs(std::span<const Attr> attrs, int spatial) {
  const auto count = static_cast<std::size_t>(spatial);
  ConvAttrs result;
  result.dilation.fill(1);
  result.stride.fill(1);
  SCANLOOM_TRY(result.auto_pad, read_auto_pad(attr_of(attrs, ConvAttr::auto_pad)));
  if (const Attr& group = attr_of(attrs, ConvAttr::group); group.present())
    result.group = group.integer();
  if (result.group < 1) return invalid_model("group is {}, but must be at least 1", result.group);
  const auto first = [count](auto& list) { return std::span(list).first(count); };
  SCANLOOM_CHECK_OK(read_window_numbers(attr_of(attrs, ConvAttr::dilations), "dilations", 1,
                                        first(result.dilation)));
  SCANLOOM_CHECK_OK(
      read_window_numbers(attr_of(attrs, ConvAttr::strides), "strides", 1, first(result.stride)));
  std::array<std::int64_t, 2 * kMaxSpatial> pads{};
  SCANLOOM_CHECK_OK(read_window_numbers(attr_of(attrs, ConvAttr::pads), "pads", 0,
                                        std::span(pads).first(2 * count)));
  if (result.auto_pad == AutoPad::explicit_pads) {
    std::copy_n(pads.begin(), count, result.pad_begin.begin());
    std::copy_n(pads.begin() + spatial, count, result.pad_end.begin());
  }
  return result;
}

std::int64_t ConvGeometry::out_positions() const {
  return product(std::span(out).first(static_cast<std::size_t>(spatial)));
}

std::int64_t ConvGeometry::kernel_positions() const {
  return product(std::span(kernel).first(static_cast<std::size_t>(spatial)));
}

Expected<ConvGeometry> conv_geometry(const Shape& x, const Shape& w, std::span<const Attr> attrs) {
  if (x.rank() != w.rank() || x.rank() < 3)
    return invalid_model("x has {} axes and w has {}; both need the same number, at least three",
                         x.rank(), w.rank());
  ConvGeometry geometry;
  geometry.spatial = x.rank() - 2;
  SCANLOOM_TRY(const ConvAttrs given, read_conv_attrs(attrs, geometry.spatial));
  geometry.batch = x[0];
  geometry.group = given.group;
  geometry.channels = w[1];
  geometry.filters = w[0] / given.group;
  if (w[0] % given.group != 0)
    return invalid_model("{} filters cannot be divided into {} groups", w[0], given.group);
  if (x[1] % given.group != 0 || x[1] / given.group != w[1])
    return invalid_model("x has {} channels, but w takes {} in each of {} groups", x[1], w[1],
                         given.group);
  geometry.stride = given.stride;
  geometry.dilation = given.dilation;
  for (int axis = 0; axis < geometry.spatial; ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    geometry.in[at] = x[axis + 2];
    geometry.kernel[at] = w[axis + 2];
    if (geometry.kernel[at] < 1 || geometry.kernel[at] >= kMaxParameter)
      return invalid_model("w has size {} on axis {}, outside [1, {})", w[axis + 2], axis + 2,
                           kMaxParameter);
    SCANLOOM_CHECK_OK(resolve_axis(geometry, given, at));
  }
  return geometry;
}

namespace {

/// Whether tap k meets an element of x in any window.
bool meets_elements(const ConvGeometry& g, std::size_t axis, std::int64_t k) {
  // The element of x that the first window meets, and that of the first window not before x.
  const std::int64_t first = k * g.dilation[axis] - g.pad[axis], stride = g.stride[axis];
  const std::int64_t window = first >= 0 ? 0 : (-first + stride - 1) / stride;
  return window < g.out[axis] && first + window * stride < g.in[axis];
}

}  // namespace

LiveTaps live_taps(const ConvGeometry& geometry) {
  LiveTaps taps{.count = geometry.kernel};
  // Without weights or results, a kernel may be of any size.
  if (geometry.channels == 0 || geometry.filters == 0 || geometry.out_positions() == 0) return taps;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(geometry.spatial); ++axis) {
    std::int64_t first = 0, last = geometry.kernel[axis];
    while (last > 1 && !meets_elements(geometry, axis, last - 1)) --last;
    while (first + 1 < last && !meets_elements(geometry, axis, first)) ++first;
    taps.first[axis] = first;
    taps.count[axis] = last - first;
  }
  return taps;
}

ConvGeometry trimmed(ConvGeometry geometry, const LiveTaps& taps) {
  geometry.kernel = taps.count;
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(geometry.spatial); ++axis)
    geometry.pad[axis] -= taps.first[axis] * geometry.dilation[axis];
  return geometry;
}

bool spatial_is_contiguous(const Operand& operand) {
  std::int64_t expected = 1;
  for (int axis = operand.rank - 1; axis >= 2; --axis) {
    if (operand.dims[axis] != 1 && operand.strides[axis] != expected) return false;
    expected *= operand.dims[axis];
  }
  return true;
}

bool is_channels_last(const Operand& operand) {
  if (operand.contiguous || operand.rank < 3 || operand.strides[1] != 1) return false;
  std::int64_t expected = operand.dims[1];
  for (int axis = operand.rank - 1; axis >= 2; --axis) {
    if (operand.dims[axis] != 1 && operand.strides[axis] != expected) return false;
    expected *= operand.dims[axis];
  }
  return operand.dims[0] == 1 || operand.strides[0] == expected;
}

}  // namespace scanloom::tensor
