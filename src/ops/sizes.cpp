#include "ops/sizes.h"

#include <algorithm>

namespace scanloom::ops {

using tensor::Dim;
using tensor::Shape;
using tensor::Type;

Expected<std::vector<int>> normalise_axes(const ir::InferCtx& ctx,
                                          std::span<const std::int64_t> axes, int rank) {
  std::vector<int> result;
  for (const std::int64_t given : axes) {
    SCANLOOM_TRY(const int axis, ctx.axis(given, rank));
    if (std::ranges::find(result, axis) != result.end())
      return invalid_model("axis {} is named twice", axis);
    result.push_back(axis);
  }
  return result;
}

Expected<Dim> same_size(ir::InferCtx& ctx, Dim a, Dim b, std::string_view what) {
  if (a == b) return a;
  if (a.is_constant() && b.is_constant())
    return invalid_model("{} has sizes {} and {}", what, a.value(), b.value());
  if (a.is_constant() || b.is_constant()) return a.is_constant() ? a : b;
  return ctx.dims().is_fresh(a) ? b : a;
}

bool is_never_negative(ir::InferCtx& ctx, Dim size) {
  if (size.is_constant()) return size.value() >= 0;
  return ctx.dims().min(size, 0) == Dim(0);
}

Dim product(ir::InferCtx& ctx, std::span<const Dim> sizes) {
  Dim result = 1;
  for (const Dim size : sizes) result = ctx.dims().mul(result, size);
  return result;
}

Expected<void> check_list(const ir::InferCtx& ctx, int i, std::string_view what) {
  const Type& type = ctx.in(i);
  if (!type.ranked || type.rank() <= 1) return {};
  return invalid_model("{} is a tensor of {} axes, not 1", what, type.rank());
}

Expected<void> check_elements(const ir::InferCtx& ctx, int i, std::int64_t count,
                              std::string_view what) {
  SCANLOOM_CHECK_OK(check_list(ctx, i, what));
  const std::int64_t known = element_count(ctx, i);
  if (known < 0 || known == count) return {};
  return invalid_model("{} has {} elements, not {}", what, known, count);
}

std::int64_t element_count(const ir::InferCtx& ctx, int i) {
  const Type& type = ctx.in(i);
  if (!type.ranked || type.rank() > 1) return -1;
  if (type.rank() == 0) return 1;
  return type.dims[0].is_constant() ? type.dims[0].value() : -1;
}

Expected<void> set_sizes(ir::InferCtx& ctx, int i, DType dtype, std::vector<Dim> sizes) {
  if (sizes.size() > static_cast<std::size_t>(tensor::kMaxRank))
    return invalid_model("the result has {} axes, more than {}", sizes.size(), tensor::kMaxRank);
  for (std::size_t axis = 0; axis < sizes.size(); ++axis)
    if (sizes[axis].is_constant() && sizes[axis].value() < 0)
      return invalid_model("axis {} of the result has size {}, less than 0", axis,
                           sizes[axis].value());
  Type type = Type::of(dtype, std::move(sizes));
  if (type.is_static() && !type.shape().checked_elements())
    return invalid_model("a result of sizes {} has more than 2^40 elements",
                         type.shape().to_string());
  ctx.set(i, std::move(type));
  return {};
}

void pass_integers(ir::InferCtx& ctx) {
  if (ctx.outputs()[0].ranked && ctx.outputs()[0].rank() <= 1)
    if (auto integers = ctx.integers(0)) ctx.set_integers(0, *std::move(integers));
}

}  // namespace scanloom::ops
