// Attributes of operators that walk windows over the axes after the first two (convolutions and
// pools), and rounding to quantised element types.
#pragma once

#include <optional>

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

/// Returns the number of axes of input 1 after the first two; nullopt if unknown.
std::optional<int> spatial_axes(const NodeWriter& out);

/// Returns the attribute; if absent, `fallback` for each axis.
NodeWriter::Ints spatial_numbers(const NodeWriter& out, std::string_view name, int spatial,
                                 std::int64_t fallback);

/// Returns the attribute `pads`; zeros if it is absent or not `counted`.
NodeWriter::Ints explicit_pads(const NodeWriter& out, int spatial, bool counted);

/// Returns strides, dilations and auto_pad with its pads, as given by the operator.
Data window_attributes(const NodeWriter& out, int spatial);
/// Returns strides, dilations and auto_pad with the given pads, begins first.
Data window_data(const NodeWriter& out, int spatial, const NodeWriter::Ints& pads);

/// Returns `scaled` rounded to even, plus `zero`, clamped to the range of `to`. Both are of type
/// `from`.
Output quantised(NodeWriter& out, Output scaled, Output zero, DType to, DType from = DType::f32);

}  // namespace scanloom::exporters::openvino
