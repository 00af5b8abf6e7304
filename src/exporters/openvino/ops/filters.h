#pragma once

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

/// Writes a resample with known sizes, factor and region, in any mode, as a product with constant
/// weights or as a gather. Refuses others.
void write_filters(NodeWriter& out);

}  // namespace scanloom::exporters::openvino
