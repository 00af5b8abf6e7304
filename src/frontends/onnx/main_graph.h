// The parts of an import for the main graph: unknown operators, inputs, outputs.
#pragma once

#include "frontends/onnx/graph_frame.h"

namespace scanloom::onnx {

/// Examines every graph reachable from the main graph, through bodies and functions, and reports
/// the operators without a converter in one error.
void report_unknown_operators(const ImportState& state);

/// Returns the request to read the main graph into the top region of the module.
[[nodiscard]] BodyRequest request_main(const ImportState& state);

/// Makes arguments of the module for the inputs of the main graph. Reports errors.
void enter_inputs(const ImportState& state, GraphFrame& frame);

/// Yields the outputs of the main graph, once all nodes have been read. Reports errors.
void leave_main(const ImportState& state, GraphFrame& frame);

}  // namespace scanloom::onnx
