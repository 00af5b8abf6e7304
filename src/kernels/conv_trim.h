// A convolution without the ends of its windows that meet nothing but padding
// (tensor::live_taps), by another way of running it with fewer weights. Used by kernel conv.
#pragma once

#include "kernels/kernel.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

using PrepareConvFn = Prepared (*)(const PrepareCtx&, const tensor::ConvGeometry&);

/// Prepares `inner` for the taps that are left. Preconditions: those of prepare_conv_planes.
Prepared prepare_trimmed_conv(const PrepareCtx& ctx, const tensor::ConvGeometry& geometry,
                              const tensor::LiveTaps& taps, PrepareConvFn inner);

}  // namespace scanloom::kernels
