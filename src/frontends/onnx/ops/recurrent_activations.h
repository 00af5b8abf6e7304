// The activations that recurrent layers have as attributes.
#pragma once

#include <string>

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// Returns `count` names from attribute activations, joined by commas. Each is followed by its
/// parameters from activation_alpha and activation_beta after colons, assigned in order to the
/// activations that take one. Empty if there are none.
Expected<std::string> joined_activations(NodeCtx& ctx, std::size_t count);

}  // namespace scanloom::onnx
