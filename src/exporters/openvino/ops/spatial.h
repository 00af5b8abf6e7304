// Attributes of what walks windows over the axes behind the first two: convolutions and pools; and
// rounding to the elements of quantised results.
#pragma once

#include <optional>

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

/// How many axes input 1 has behind the first two; nullopt: not known.
std::optional<int> spatial_axes(const NodeWriter& out);

/// The attribute, with `fallback` per axis where it is absent.
NodeWriter::Ints spatial_numbers(const NodeWriter& out, std::string_view name, int spatial,
                                 std::int64_t fallback);

/// The attribute `pads`, zeros where it is absent or not `counted`.
NodeWriter::Ints explicit_pads(const NodeWriter& out, int spatial, bool counted);

/// strides, dilations and auto_pad with its pads, as the operator has them.
Data window_attributes(const NodeWriter& out, int spatial);
/// The same with these pads, begins first.
Data window_data(const NodeWriter& out, int spatial, const NodeWriter::Ints& pads);

/// `scaled` rounded to even, plus `zero`, limited to the range of `to`; both are of type `from`.
Output quantised(NodeWriter& out, Output scaled, Output zero, DType to, DType from = DType::f32);

}  // namespace scanloom::exporters::openvino
