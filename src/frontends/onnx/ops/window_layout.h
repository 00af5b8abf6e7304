// Convolutions and pools with the channels last, as transpositions around those of the IR.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Moves the last of `rank` axes to position 1.
ir::ValueId channels_first(Composer& c, ir::ValueId x, int rank);
/// Moves axis 1 of `rank` axes to the end.
ir::ValueId channels_last(Composer& c, ir::ValueId x, int rank);

/// Returns attribute `kernel_shape` of a pool over an input of `rank` axes. Errors: it is missing
/// or has another number of sizes than there are axes after the first two.
Expected<std::vector<std::int64_t>> window_sizes(NodeCtx& ctx, int rank);

}  // namespace scanloom::onnx
