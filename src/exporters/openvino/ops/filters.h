#pragma once

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

/// A resample whose sizes, factor and region are known, whatever its mode: as a product with
/// constant weights, or a gather. Refuses others.
void write_filters(NodeWriter& out);

}  // namespace scanloom::exporters::openvino
