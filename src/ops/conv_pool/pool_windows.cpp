#include "ops/conv_pool/pool_windows.h"

#include <algorithm>

#include "ops/sizes.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::PoolAttrs;
using tensor::PoolAxis;
using tensor::Type;

// resolve_pool_axis for a size that need not be a number.
Dim out_size(ir::InferCtx& ctx, const PoolAttrs& attrs, std::size_t i, Dim in) {
  tensor::DimTable& dims = ctx.dims();
  const std::int64_t stride = attrs.stride[i];
  if (is_same(attrs.padding)) return dims.floor_div(dims.add(in, stride - 1), stride);
  const std::int64_t extent = (attrs.kernel[i] - 1) * attrs.dilation[i] + 1;
  const std::int64_t outside = attrs.begin[i] + attrs.end[i] - extent + stride;
  const Dim floor = dims.floor_div(dims.add(in, outside), stride);
  if (!attrs.ceil) return floor;
  const Dim ceil = dims.floor_div(dims.add(in, outside + stride - 1), stride);
  const Dim starting = dims.floor_div(dims.add(in, attrs.begin[i] + stride - 1), stride);
  return dims.min(ceil, starting);
}

}  // namespace

Expected<Type> pooled_type(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (!x.ranked) return Type::unranked(x.dtype);
  if (x.rank() < 3) return invalid_model("x has {} axes, three at least are needed", x.rank());
  SCANLOOM_TRY(const PoolAttrs attrs, tensor::read_pool_attrs(ctx.attrs(), x.rank() - 2));
  std::vector<Dim> sizes = {x.dims[0], x.dims[1]};
  for (std::size_t axis = 0; axis + 2 < x.dims.size(); ++axis) {
    const Dim in = x.dims[axis + 2];
    if (in.is_constant()) {
      SCANLOOM_TRY(const PoolAxis resolved, tensor::resolve_pool_axis(attrs, axis, in.value()));
      sizes.emplace_back(resolved.out);
    } else {
      sizes.push_back(out_size(ctx, attrs, axis, in));
    }
  }
  return Type::of(x.dtype, std::move(sizes));
}

std::int64_t elements_of_window(const PoolGeometry& geometry) {
  std::int64_t count = 1;
  for (int i = 0; i < geometry.spatial; ++i) {
    const PoolAxis& axis = geometry.axes[static_cast<std::size_t>(i)];
    count *= std::min(axis.kernel, axis.in);
  }
  return count;
}

double products_of_pool(const ir::CostCtx& ctx) {
  const tensor::Shape& x = *ctx.inputs[0];
  const auto kernel = ctx.attrs[static_cast<std::size_t>(tensor::PoolAttr::kernel)].integers();
  double taps = 1;
  for (int i = 0; i < std::min(x.rank() - 2, static_cast<int>(kernel.size())); ++i)
    taps *= static_cast<double>(std::min(kernel[static_cast<std::size_t>(i)], x[i + 2]));
  return ctx.results() * taps;
}

}  // namespace scanloom::ops
