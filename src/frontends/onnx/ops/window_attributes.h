// Attributes that convolutions and pools share.
#pragma once

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// How the attribute `auto_pad` says to pad, in the words of our operators.
Expected<const char*> auto_pad(NodeCtx& ctx);

/// Error: the attribute `kernel_shape`, which repeats what the weights say, says something else.
Expected<void> check_kernel_shape(NodeCtx& ctx, ir::ValueId weights);

}  // namespace scanloom::onnx
