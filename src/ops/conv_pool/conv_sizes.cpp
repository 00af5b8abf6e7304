#include "ops/conv_pool/conv_sizes.h"

#include <algorithm>

#include "opmath/conv_geometry.h"
#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::AutoPad;
using tensor::ConvAttrs;
using tensor::Dim;
using tensor::Type;

// tensor::conv_geometry for sizes that need not be numbers.
Dim out_size(ir::InferCtx& ctx, Dim in, Dim kernel, const ConvAttrs& attrs, std::size_t axis) {
  tensor::DimTable& dims = ctx.dims();
  const std::int64_t stride = attrs.stride[axis], dilation = attrs.dilation[axis];
  if (attrs.auto_pad == AutoPad::same_upper || attrs.auto_pad == AutoPad::same_lower)
    return dims.floor_div(dims.add(in, stride - 1), stride);
  const Dim extent = dims.add(dims.mul(dims.sub(kernel, 1), dilation), 1);
  const Dim padded = dims.add(in, attrs.pad_begin[axis] + attrs.pad_end[axis]);
  return dims.add(dims.floor_div(dims.sub(padded, extent), stride), 1);
}

Expected<void> check_channels(ir::InferCtx& ctx, const Type& x, const Type& w, std::int64_t group) {
  if (w.dims[0].is_constant() && w.dims[0].value() % group != 0)
    return invalid_model("{} filters cannot be divided into {} groups", w.dims[0].value(), group);
  const Dim taken = ctx.dims().mul(w.dims[1], group);
  if (x.dims[1].is_constant() && taken.is_constant() && x.dims[1] != taken)
    return invalid_model("x has {} channels, but w takes {} in each of {} groups",
                         x.dims[1].value(), w.dims[1].is_constant() ? w.dims[1].value() : -1,
                         group);
  return {};
}

}  // namespace

Expected<std::vector<Dim>> conv_sizes(ir::InferCtx& ctx, const Type& x, const Type& w) {
  if (x.rank() != w.rank() || x.rank() < 3 || x.rank() > tensor::kMaxRank)
    return invalid_model("x has {} axes and w has {}; both need the same number, at least three",
                         x.rank(), w.rank());
  SCANLOOM_TRY(const ConvAttrs attrs, tensor::read_conv_attrs(ctx.attrs(), x.rank() - 2));
  SCANLOOM_CHECK_OK(check_channels(ctx, x, w, attrs.group));
  std::vector<Dim> sizes = {x.dims[0], w.dims[0]};
  for (std::size_t axis = 0; axis + 2 < x.dims.size(); ++axis)
    sizes.push_back(out_size(ctx, x.dims[axis + 2], w.dims[axis + 2], attrs, axis));
  if (Type::of(x.dtype, x.dims).is_static() && Type::of(w.dtype, w.dims).is_static())
    SCANLOOM_CHECK_OK(tensor::conv_geometry(x.shape(), w.shape(), ctx.attrs()));
  return sizes;
}

Expected<void> check_per_filter(ir::InferCtx& ctx, int i, const Type& w) {
  if (!ctx.has(i) || !ctx.in(i).ranked) return {};
  const Type& type = ctx.in(i);
  if (type.rank() != 1) return invalid_model("input {} has {} axes, not 1", i, type.rank());
  if (type.dims[0].is_constant() && w.dims[0].is_constant() && type.dims[0] != w.dims[0])
    return invalid_model("input {} has {} elements for {} filters", i, type.dims[0].value(),
                         w.dims[0].value());
  return {};
}

double products_of_conv(const ir::CostCtx& ctx) {
  return std::max(ctx.elements(0), ctx.results()) * ctx.elements(1) / ctx.size(1, 0);
}

}  // namespace scanloom::ops
