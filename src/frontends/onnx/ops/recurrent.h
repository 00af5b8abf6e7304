// What the converters of GRU, LSTM and RNN share.
#pragma once

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// Attribute activations: `count` names joined by commas, with the parameters of activation_alpha
/// and activation_beta behind colons, each in the order of the activations that take one. Empty:
/// there are none.
Expected<std::string> joined_activations(NodeCtx& ctx, std::size_t count);

}  // namespace scanloom::onnx
