// Attributes shared by convolutions and pools.
#pragma once

#include "frontends/onnx/node_ctx.h"

namespace scanloom::onnx {

/// Returns the padding mode of attribute `auto_pad`, in the words of our operators.
Expected<const char*> auto_pad(NodeCtx& ctx);

/// Error: attribute `kernel_shape`, which repeats the sizes of the weights, contradicts them.
Expected<void> check_kernel_shape(NodeCtx& ctx, ir::ValueId weights);

}  // namespace scanloom::onnx
