#include <algorithm>

#include "ops/ops.h"
#include "ops/reshape_view.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Type;

constexpr int kAxes = 0;

// Without axes all of size 1 go, so every size must be known.
Expected<void> infer_all(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  std::vector<Dim> sizes;
  for (const Dim size : x.dims) {
    if (!size.is_constant()) {
      ctx.set(0, Type::unranked(x.dtype));
      return {};
    }
    if (size != Dim(1)) sizes.push_back(size);
  }
  ctx.set(0, x.dtype, std::move(sizes));
  pass_integers(ctx);
  return {};
}

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  if (!ctx.attr(kAxes).present()) return infer_all(ctx);
  SCANLOOM_TRY(const std::vector<int> axes,
               normalise_axes(ctx, ctx.attr(kAxes).integers(), x.rank()));
  std::vector<Dim> sizes;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Dim size = x.dims[static_cast<std::size_t>(axis)];
    if (std::ranges::find(axes, axis) == axes.end())
      sizes.push_back(size);
    else if (size.is_constant() && size != Dim(1))
      return invalid_model("axis {} has size {}, not 1", axis, size.value());
  }
  ctx.set(0, x.dtype, std::move(sizes));
  pass_integers(ctx);
  return {};
}

}  // namespace

constinit const ir::OpDef squeeze_op{
    .name = "squeeze",
    .doc = "Without the axes named, each of size 1; without `axes` all of size 1 are dropped.",
    .inputs = {{"x", ir::Accept::tensor}},
    .outputs = {"y"},
    .attrs = {{"axes", tensor::AttrKind::integers, true}},
    .access = ir::Access::view,
    .infer = infer,
    .reference = tensor::copy_kernel,
    .view = reshape_view,
};

}  // namespace scanloom::ops
