#include "opmath/conv_transpose_geometry.h"

#include <algorithm>
#include <string>

namespace scanloom::tensor {
namespace {

enum AttrIndex : int {
  kAutoPad,
  kDilations,
  kGroup,
  kOutputPadding,
  kOutputShape,
  kPads,
  kStrides,
};

using List = std::array<std::int64_t, kMaxSpatial>;

Expected<void> read_padding(const Attr& attr, ConvTransposeAttrs& given) {
  if (!attr.present()) return {};
  const std::string& text = attr.text();
  given.upper = text == "same_upper";
  given.same = given.upper || text == "same_lower";
  if (!given.same && text != "explicit" && text != "valid")
    return invalid_model("auto_pad is '{}', not one of explicit, same_upper, same_lower, valid",
                         text);
  return {};
}

}  // namespace

Expected<ConvTransposeAttrs> read_conv_transpose_attrs(std::span<const Attr> attrs, int spatial) {
  const auto count = static_cast<std::size_t>(spatial);
  const auto first = [count](List& list) { return std::span(list).first(count); };
  ConvTransposeAttrs given;
  SCANLOOM_CHECK_OK(read_padding(attrs[kAutoPad], given));
  if (attrs[kGroup].present()) given.group = attrs[kGroup].integer();
  if (given.group < 1 || given.group >= kMaxParameter)
    return invalid_model("group is {}, outside [1, {})", given.group, kMaxParameter);
  SCANLOOM_CHECK_OK(read_window_numbers(attrs[kDilations], "dilations", 1, first(given.dilation)));
  SCANLOOM_CHECK_OK(read_window_numbers(attrs[kStrides], "strides", 1, first(given.stride)));
  SCANLOOM_CHECK_OK(
      read_window_numbers(attrs[kOutputPadding], "output_padding", 0, first(given.extra)));
  given.has_shape = attrs[kOutputShape].present();
  SCANLOOM_CHECK_OK(
      read_window_numbers(attrs[kOutputShape], "output_shape", 0, first(given.shape)));
  std::array<std::int64_t, 2 * tensor::kMaxSpatial> pads{};
  SCANLOOM_CHECK_OK(read_window_numbers(attrs[kPads], "pads", 0, std::span(pads).first(2 * count)));
  const bool explicit_pads = !attrs[kAutoPad].present() || attrs[kAutoPad].text() == "explicit";
  if (!explicit_pads) return given;
  std::copy_n(pads.begin(), count, given.begin.begin());
  std::copy_n(pads.begin() + spatial, count, given.end.begin());
  return given;
}

ConvTransposeGeometry conv_transpose_geometry(const Shape& x, const Shape& w, const Shape& y,
                                              const ConvTransposeAttrs& attrs) {
  ConvTransposeGeometry geometry;
  geometry.spatial = x.rank() - 2;
  geometry.batch = x[0];
  geometry.group = attrs.group;
  geometry.channels = x[1] / attrs.group;
  geometry.filters = w[1];
  geometry.stride = attrs.stride;
  geometry.dilation = attrs.dilation;
  geometry.pad = attrs.begin;
  for (int axis = 0; axis < geometry.spatial; ++axis) {
    const auto i = static_cast<std::size_t>(axis);
    geometry.in[i] = x[axis + 2];
    geometry.kernel[i] = w[axis + 2];
    geometry.out[i] = y[axis + 2];
    if (!attrs.has_shape && !attrs.same) continue;
    // The size was given: the excess is cropped on both sides.
    const std::int64_t all = (geometry.in[i] - 1) * attrs.stride[i] + attrs.extra[i] +
                             (geometry.kernel[i] - 1) * attrs.dilation[i] + 1;
    const std::int64_t cut = std::max<std::int64_t>(all - geometry.out[i], 0);
    geometry.pad[i] = attrs.upper ? cut / 2 : cut - cut / 2;
  }
  return geometry;
}

}  // namespace scanloom::tensor
