// A convolution of 3x3 by Winograd's minimal filtering (opmath/winograd.h). Used by kernel conv.
#pragma once

#include "kernels/kernel.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// Prepares a convolution whose sums are taken in this order. Declines epilogues that it cannot
/// compute, and results with their channels last whose filters do not fill vectors. Preconditions:
/// tensor::sums_by_winograd, operands of f32, contiguous weights, and a result whose spatial axes
/// are contiguous or whose channels are last.
Prepared prepare_conv_winograd(const PrepareCtx& ctx, const tensor::ConvGeometry& geometry);

}  // namespace scanloom::kernels
