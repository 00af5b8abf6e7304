#include "ops/named_axes.h"

#include "ops/sizes.h"

namespace scanloom::ops {

using tensor::Type;

Expected<NamedAxes> read_named_axes(const ir::InferCtx& ctx, const tensor::Attr& attr,
                                    int operand) {
  NamedAxes named;
  if (attr.present() && ctx.has(operand))
    return invalid_model("the axes are given twice, as an attribute and as input {}", operand);
  if (attr.present()) {
    named.axes = attr.integers();
  } else if (ctx.has(operand)) {
    const Type& type = ctx.in(operand);
    if (type.ranked && type.rank() > 1)
      return invalid_model("input {}, the axes, has {} axes itself, but at most 1 is allowed",
                           operand, type.rank());
    named.axes = ctx.numbers(operand);
    named.count = element_count(ctx, operand);
  }
  named.present = attr.present() || ctx.has(operand);
  if (named.axes) named.count = static_cast<std::int64_t>(named.axes->size());
  return named;
}

Type of_unknown_axes(ir::InferCtx& ctx, DType dtype, std::int64_t rank) {
  if (rank <= 0 || rank > tensor::kMaxRank) return Type::unranked(dtype);
  return ctx.fresh(dtype, static_cast<int>(rank));
}

}  // namespace scanloom::ops
