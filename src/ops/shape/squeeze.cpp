#include <algorithm>

#include "ops/named_axes.h"
#include "ops/ops.h"
#include "ops/shape/reshape_view.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {

using tensor::Dim;
using tensor::Type;

constexpr int kAxes = 0;

// Without axes all axes of size 1 are removed, so every size must be known.
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
  SCANLOOM_TRY(const NamedAxes named, named_axes(ctx, ctx.attr(kAxes), 1));
  if (!x.ranked) {
    ctx.set(0, Type::unranked(x.dtype));
    return {};
  }
  if (!named.present) return infer_all(ctx);
  if (!named.axes) {
    ctx.set(0, of_unknown_axes(ctx, x.dtype, named.count < 0 ? -1 : x.rank() - named.count));
    return {};
  }
  SCANLOOM_TRY(const std::vector<int> axes, normalise_axes(ctx, *named.axes, x.rank()));
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
    .doc =
        "Without the axes that `axes`, an attribute or an operand, names, each of size 1; without "
        "`axes` all of size 1 are dropped.",
    .inputs = {{"x", ir::Accept::tensor},
               {"computed_axes", ir::Accept::index, ir::Arity::optional}},
    .outputs = {"y"},
    .attrs = {{"axes", tensor::AttrKind::integers, true}},
    .access = ir::Access::view,
    .infer = infer,
    .reference = tensor::copy_kernel,
    .view = reshape_view,
};

}  // namespace scanloom::ops
