// The begin and the end of reading a graph: everything around its nodes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frontends/onnx/graph_frame.h"

namespace scanloom::onnx {

/// Makes the frame of a graph, with everything bound that comes before its nodes, and their order.
/// Reports errors; what is wrong is poisoned.
[[nodiscard]] std::unique_ptr<GraphFrame> make_frame(ImportState& state, BodyRequest request,
                                                     std::string label);

/// Returns the outputs of a graph whose nodes have all been read. Reports those that nothing makes.
[[nodiscard]] std::vector<Binding> graph_outputs(const ImportState& state, GraphFrame& frame);

}  // namespace scanloom::onnx
