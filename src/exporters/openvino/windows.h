// The windows of loops: which slices a step sees, in the forms that every implementation of the IR
// takes alike: whole axes, forwards or backwards, in slices that neither overlap nor leave gaps.
#pragma once

#include "exporters/openvino/node_writer.h"
#include "ir/loop_ports.h"

namespace scanloom::exporters::openvino {

struct Window {
  std::int64_t axis = 0, part = 1;
  bool is_reversed = false;
};

struct Sliced {
  Output value;
  Window window;
};

/// `x` as it is where the port walks it in such a form; otherwise its slices gathered, one after
/// the other.
Sliced sliced(NodeWriter& out, Output x, const tensor::Type& type, const ir::ScannedPort& port);

/// The slices that the port sees, put end to end along its axis.
Output gathered_slices(NodeWriter& out, Output x, const tensor::Type& type,
                       const ir::ScannedPort& port);

/// How many slices there are, as a scalar.
Output slice_count(NodeWriter& out, const Sliced& sliced);

/// Attributes of a port that walks the window.
Data window_data(const Window& window);

}  // namespace scanloom::exporters::openvino
