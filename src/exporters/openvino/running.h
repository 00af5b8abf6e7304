// A TensorIterator that carries what it has made of all rows so far.
#pragma once

#include "exporters/openvino/node_writer.h"

namespace scanloom::exporters::openvino {

struct Running {
  std::string_view layer;  ///< of the state and the row
  std::int64_t axis = 0;
  bool reverse = false;
  bool exclusive = false;  ///< the state before each row, not behind it
};

/// Of x, of `type`, beginning with `initial`, which has the shape of a row.
Output write_running(NodeWriter& out, const Running& running, Output x, const tensor::Type& type,
                     Output initial);

}  // namespace scanloom::exporters::openvino
