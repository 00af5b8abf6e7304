#include "ops/ops.h"
#include "ops/shape/reshape_view.h"
#include "ops/sizes.h"
#include "tensor/strided_copy.h"

namespace scanloom::ops {
namespace {
namespace reshape {

using tensor::Dim;
using tensor::Type;

constexpr int kAllowZero = 0;

// Entries of the shape operand with a special meaning.
constexpr std::int64_t kCopied = 0;
constexpr std::int64_t kInferred = -1;

Expected<Dim> copied_size(ir::InferCtx& ctx, int axis) {
  const Type& x = ctx.in(0);
  if (!x.ranked) return ctx.dims().fresh();
  if (axis >= x.rank())
    return invalid_model("the shape copies axis {} of an input with {} axes", axis, x.rank());
  return x.dims[static_cast<std::size_t>(axis)];
}

// Returns the size that the other sizes leave.
Expected<Dim> inferred_size(ir::InferCtx& ctx, std::span<const Dim> others) {
  const Type& x = ctx.in(0);
  if (!x.ranked) return ctx.dims().fresh();
  const Dim all = product(ctx, x.dims), rest = product(ctx, others);
  if (!all.is_constant() || !rest.is_constant()) return ctx.dims().floor_div(all, rest);
  if (rest.value() == 0 || all.value() % rest.value() != 0)
    return invalid_model("{} elements are not divisible by the {} of the other axes", all.value(),
                         rest.value());
  return Dim(all.value() / rest.value());
}

Expected<void> check_count(ir::InferCtx& ctx, std::span<const Dim> sizes) {
  const Type& x = ctx.in(0);
  if (!x.ranked) return {};
  const Dim given = product(ctx, x.dims), wanted = product(ctx, sizes);
  if (given.is_constant() && wanted.is_constant() && given != wanted)
    return invalid_model("an input of {} elements cannot have the {} of the shape", given.value(),
                         wanted.value());
  return {};
}

Expected<std::vector<Dim>> result_sizes(ir::InferCtx& ctx, std::span<const Dim> shape) {
  const bool allow_zero = ctx.attr(kAllowZero).integer() != 0;
  std::vector<Dim> sizes(shape.begin(), shape.end()), others;
  int inferred = -1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    Dim& size = sizes[axis];
    if (size == Dim(kInferred)) {
      if (inferred >= 0)
        return invalid_model("the shape has -1 on two axes, {} and {}", inferred, axis);
      inferred = static_cast<int>(axis);
      continue;
    }
    if (size.is_constant() && size.value() < 0)
      return invalid_model("the shape has size {} on axis {}", size.value(), axis);
    if (size == Dim(kCopied) && !allow_zero) {
      SCANLOOM_TRY(size, copied_size(ctx, static_cast<int>(axis)));
    }
    others.push_back(size);
  }
  if (inferred >= 0) {
    SCANLOOM_TRY(sizes[static_cast<std::size_t>(inferred)], inferred_size(ctx, others));
  } else {
    SCANLOOM_CHECK_OK(check_count(ctx, sizes));
  }
  return sizes;
}

Expected<void> infer(ir::InferCtx& ctx) {
  SCANLOOM_CHECK_OK(check_list(ctx, 1, "the shape"));
  const auto shape = ctx.integers(1);
  if (!shape) {
    const std::int64_t rank = element_count(ctx, 1);
    if (rank < 0) {
      ctx.set(0, Type::unranked(ctx.dtype()));
      return {};
    }
    if (rank > tensor::kMaxRank)
      return invalid_model("the shape has {} axes, more than {}", rank, tensor::kMaxRank);
    // An empty shape is known without its data.
    if (rank == 0) SCANLOOM_CHECK_OK(check_count(ctx, {}));
    ctx.set(0, ctx.fresh(ctx.dtype(), static_cast<int>(rank)));
    pass_integers(ctx);
    return {};
  }
  if (shape->size() > static_cast<std::size_t>(tensor::kMaxRank))
    return invalid_model("the shape has {} axes, more than {}", shape->size(), tensor::kMaxRank);
  SCANLOOM_TRY(std::vector<Dim> sizes, result_sizes(ctx, *shape));
  SCANLOOM_CHECK_OK(set_sizes(ctx, 0, ctx.dtype(), std::move(sizes)));
  pass_integers(ctx);
  return {};
}

}  // namespace reshape
}  // namespace

// Pure although sizes may not match: that is found by inference, at binding or, if only data
// decides them, right before the kernel. may_fail is for what a kernel itself finds.
constinit const ir::OpDef reshape_op{
    .name = "reshape",
    .doc =
        "The same elements in row-major order under another shape. One entry of shape may be -1: "
        "the size that is left over. An entry of 0 copies the input's size, unless allowzero.",
    .inputs = {{"x", ir::Accept::tensor},
               {.name = "shape", .accept = ir::Accept::index, .decides_sizes = true}},
    .outputs = {"y"},
    .attrs = {{"allowzero", tensor::AttrKind::integer}},
    .access = ir::Access::view,
    .infer = reshape::infer,
    .reference = tensor::copy_kernel,
    .view = reshape_view,
    .keeps_order = true,
    .steps = {.regroup = steps_of_reshape},
    .lifting = {can_lift_reshape, lift_reshape},
};

}  // namespace scanloom::ops
