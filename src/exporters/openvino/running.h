// A TensorIterator that carries a running result over the rows, such as a cumulative product.
#pragma once

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

struct Running {
  std::string_view layer;  ///< combines the state and the row
  std::int64_t axis = 0;
  bool reverse = false;
  bool exclusive = false;  ///< yields the state before each row instead of after it
};

/// Runs over x, of type `type`, starting from `initial`, which has the shape of a row.
Output write_running(NodeWriter& out, const Running& running, Output x, const tensor::Type& type,
                     Output initial);

}  // namespace scanloom::exporters::openvino
