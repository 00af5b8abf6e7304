#include "ops/matrix/matrices.h"

#include "ops/sizes.h"
#include "ops/step_rules.h"

namespace scanloom::ops {

using tensor::Dim;
using tensor::Type;

Expected<void> check_square(ir::InferCtx& ctx, int i, std::string_view what) {
  const Type& x = ctx.in(i);
  if (x.dtype != DType::f32 && x.dtype != DType::f64)
    return invalid_model("{} holds {}, but must hold f32 or f64", what, dtype_name(x.dtype));
  if (!x.ranked) return {};
  if (x.rank() < 2) return invalid_model("{} has {} axes, two at least are needed", what, x.rank());
  const std::size_t last = x.dims.size() - 1;
  SCANLOOM_CHECK_OK(same_size(ctx, x.dims[last - 1], x.dims[last],
                              std::string(what) + ", whose matrices must be square,"));
  return {};
}

Expected<void> check_pivots(ir::InferCtx& ctx, int lu, int pivots) {
  const Type &factors = ctx.in(lu), &rows = ctx.in(pivots);
  if (rows.dtype != DType::i64)
    return invalid_model("the pivots are {}, but must be i64", dtype_name(rows.dtype));
  if (!factors.ranked || !rows.ranked) return {};
  if (rows.rank() != factors.rank() - 1)
    return invalid_model("the pivots have {} axes, and lu {}, not one more", rows.rank(),
                         factors.rank());
  for (std::size_t axis = 0; axis < rows.dims.size(); ++axis)
    SCANLOOM_CHECK_OK(
        same_size(ctx, rows.dims[axis], factors.dims[axis], "an axis of the pivots, and of lu,"));
  return {};
}

Expected<void> set_solutions(ir::InferCtx& ctx, int a, int b) {
  const Type &matrix = ctx.in(a), &right = ctx.in(b);
  if (!matrix.ranked || !right.ranked) {
    ctx.set(0, Type::unranked(matrix.dtype));
    return {};
  }
  if (right.rank() < 2)
    return invalid_model("b has {} axes, two at least are needed", right.rank());
  SCANLOOM_TRY(const Dim rows, same_size(ctx, matrix.dims.back(), right.dims[right.dims.size() - 2],
                                         "the number of columns of the matrix, and of rows of b,"));
  const auto leading = [](const Type& type) {
    return Type::of(type.dtype, {type.dims.begin(), type.dims.end() - 2});
  };
  SCANLOOM_TRY(Type sizes, ctx.broadcast(leading(matrix), leading(right), matrix.dtype));
  sizes.dims.push_back(rows);
  sizes.dims.push_back(right.dims.back());
  return set_sizes(ctx, 0, matrix.dtype, std::move(sizes.dims));
}

Expected<int> steps_of_matrices(const ir::StepSite& s) {
  if (s.axis(0) >= s.type(0).rank() - 2) return across("they are rows or columns of its matrices");
  for (std::size_t i = 1; i < s.node.inputs.size(); ++i)
    if (s.has(i) && (!s.along(i) || s.axis(i) != s.axis(0)))
      return across("its operands do not all have the steps on one axis");
  return s.axis(0);
}

}  // namespace scanloom::ops
