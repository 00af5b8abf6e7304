#include "exporters/openvino/ops/spatial.h"

#include <algorithm>

namespace scanloom::exporters::openvino {

namespace {

/// Returns the half of the pads at the beginnings, or at the ends.
std::string half_text(const NodeWriter::Ints& pads, bool begins) {
  const std::size_t half = pads.size() / 2;
  return list_text(std::span(pads).subspan(begins ? 0 : half, half));
}

}  // namespace

std::optional<int> spatial_axes(const NodeWriter& out) {
  if (!out.type(1).ranked) return std::nullopt;
  return out.type(1).rank() - 2;
}

NodeWriter::Ints spatial_numbers(const NodeWriter& out, std::string_view name, int spatial,
                                 std::int64_t fallback) {
  const tensor::Attr& given = out.attr(name);
  if (given.present()) return given.integers();
  return NodeWriter::Ints(static_cast<std::size_t>(spatial), fallback);
}

NodeWriter::Ints explicit_pads(const NodeWriter& out, int spatial, bool counted) {
  if (counted) return spatial_numbers(out, "pads", 2 * spatial, 0);
  return NodeWriter::Ints(2 * static_cast<std::size_t>(spatial), 0);
}

Data window_data(const NodeWriter& out, int spatial, const NodeWriter::Ints& pads) {
  return {{"strides", list_text(spatial_numbers(out, "strides", spatial, 1))},
          {"dilations", list_text(spatial_numbers(out, "dilations", spatial, 1))},
          {"pads_begin", half_text(pads, true)},
          {"pads_end", half_text(pads, false)},
          {"auto_pad", "explicit"}};
}

Data window_attributes(const NodeWriter& out, int spatial) {
  const std::string padding = out.attr("auto_pad").present() ? out.text("auto_pad") : "explicit";
  Data data = window_data(out, spatial, explicit_pads(out, spatial, padding == "explicit"));
  data.back().second = padding;
  return data;
}

Output quantised(NodeWriter& out, Output scaled, Output zero, DType to, DType from) {
  const Output rounded = out.layer("Round", 5, {scaled}, from, {{"mode", "half_to_even"}});
  const Output moved = out.binary("Add", rounded, zero, from);
  const int bits = dtype_file_bits(to);
  const bool is_signed = dtype_kind(to) == DTypeKind::signed_int;
  const double high = static_cast<double>((std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1);
  const double low = is_signed ? -high - 1 : 0;
  const Output limited =
      out.layer("Clamp", 1, {moved}, from, {{"min", real_text(low)}, {"max", real_text(high)}});
  return out.convert(limited, to);
}

}  // namespace scanloom::exporters::openvino
