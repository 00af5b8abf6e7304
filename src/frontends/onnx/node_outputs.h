// The outputs of a converted node, which get the names and types that the model gives them.
#pragma once

#include "frontends/onnx/node_step.h"

namespace scanloom::onnx {

/// Binds the outputs of a converted node to their names. Reports errors.
void bind_outputs(const ImportState& state, GraphFrame& frame, const NodeStep& step, NodeCtx& ctx);

}  // namespace scanloom::onnx
