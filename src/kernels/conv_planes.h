// A convolution that reads its windows from padded planes instead of unfolding them: an element of
// x is copied once, rather than once per kernel position. Used by kernel conv.
#pragma once

#include "kernels/kernel.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// Declines if the planes would be larger than the unfolded windows, and those of few filters
/// or positions if `only_panels`. Preconditions: operands of one type, f32 or f64; contiguous
/// weights; a result whose spatial axes are contiguous.
Prepared prepare_conv_planes(const PrepareCtx& ctx, const tensor::ConvGeometry& geometry,
                             bool only_panels);

}  // namespace scanloom::kernels
