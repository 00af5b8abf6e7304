// Attributes and inferred sizes of conv and qlinear_conv.
#pragma once

#include <vector>

#include "ir/infer_ctx.h"
#include "ir/op_def.h"

namespace scanloom::ops {

/// In the order of tensor::ConvAttr.
inline constexpr decltype(ir::OpDef::attrs) kConvAttrs = {
    {"auto_pad", tensor::AttrKind::text, true},
    {"dilations", tensor::AttrKind::integers, true},
    {"group", tensor::AttrKind::integer, true},
    {"pads", tensor::AttrKind::integers, true},
    {"strides", tensor::AttrKind::integers, true}};

/// Returns the sizes of x convolved with w under ctx's attributes, in the order of
/// tensor::ConvAttr. Precondition: x and w are ranked. Errors: sizes or attributes that do not
/// match.
Expected<std::vector<tensor::Dim>> conv_sizes(ir::InferCtx& ctx, const tensor::Type& x,
                                              const tensor::Type& w);

/// OpDef::products of convolutions of x with w.
double products_of_conv(const ir::CostCtx& ctx);

/// Error: input i is present and is not a vector with one element per filter of w.
Expected<void> check_per_filter(ir::InferCtx& ctx, int i, const tensor::Type& w);

}  // namespace scanloom::ops
