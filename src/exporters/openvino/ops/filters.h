#pragma once

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

/// Returns why write_filters refuses the resample; empty if it does not.
std::string_view no_filters(const NodeWriter& out);

/// Writes a resample with known sizes, factor and region, in any mode, as a product with constant
/// weights or as a gather. Refuses others.
void write_filters(NodeWriter& out);

}  // namespace scanloom::exporters::openvino
