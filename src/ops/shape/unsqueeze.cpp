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

Expected<void> infer(ir::InferCtx& ctx) {
  const Type& x = ctx.in(0);
  SCANLOOM_TRY(const NamedAxes named, named_axes(ctx, ctx.attr(kAxes), 1));
  if (!named.present) return invalid_model("no axes are named");
  if (!x.ranked || !named.axes) {
    const bool counted = x.ranked && named.count >= 0 && named.count <= tensor::kMaxRank;
    ctx.set(0, of_unknown_axes(ctx, x.dtype, counted ? x.rank() + named.count : -1));
    return {};
  }
  const std::vector<std::int64_t>& given = *named.axes;
  if (given.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return invalid_model("{} axes are named, more than {}", given.size(), tensor::kMaxRank);
  const int rank = x.rank() + static_cast<int>(given.size());
  SCANLOOM_TRY(const std::vector<int> axes, normalise_axes(ctx, given, rank));
  std::vector<Dim> sizes;
  std::size_t next = 0;
  for (int axis = 0; axis < rank; ++axis) {
    const bool added = std::ranges::find(axes, axis) != axes.end();
    sizes.push_back(added ? Dim(1) : x.dims[next++]);
  }
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, x.dtype, std::move(sizes)));
  pass_integers(ctx);
  return {};
}

}  // namespace

constinit const ir::OpDef unsqueeze_op{
    .name = "unsqueeze",
    .doc =
        "With new axes of size 1; `axes`, an attribute or an operand, are positions in the result.",
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
