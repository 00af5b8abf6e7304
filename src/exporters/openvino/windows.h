// The windows of loops: which slices a step sees. Uses only forms that every implementation of the
// IR treats alike: whole axes, forwards or backwards, in slices without overlaps or gaps.
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

/// Returns `x` unchanged if the port walks it in such a form; otherwise its slices, gathered in
/// order.
Sliced sliced(NodeWriter& out, Output x, const tensor::Type& type, const ir::ScannedPort& port);

/// Returns the slices seen by the port, concatenated along its axis.
Output gathered_slices(NodeWriter& out, Output x, const tensor::Type& type,
                       const ir::ScannedPort& port);

/// Returns the number of slices as a scalar.
Output slice_count(NodeWriter& out, const Sliced& sliced);

/// The attributes of a port that walks the window.
Data window_data(const Window& window);

}  // namespace scanloom::exporters::openvino
