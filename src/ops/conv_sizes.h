// The inferred sizes of convolutions, for conv and qlinear_conv.
#pragma once

#include <vector>

#include "ir/infer_ctx.h"

namespace scanloom::ops {

/// Of x convolved with w under ctx's attributes, which stand in the order of tensor::ConvAttr.
/// Precondition: x and w are ranked. Errors: sizes or attributes that do not go together.
Expected<std::vector<tensor::Dim>> conv_sizes(ir::InferCtx& ctx, const tensor::Type& x,
                                              const tensor::Type& w);

/// Error: input i is there and is no vector with one element per filter of w.
Expected<void> check_per_filter(ir::InferCtx& ctx, int i, const tensor::Type& w);

}  // namespace scanloom::ops
