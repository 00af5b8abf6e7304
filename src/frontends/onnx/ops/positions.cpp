// Range, and operators based on the positions of elements: EyeLike, Hardmax, OneHot, Trilu.
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/types.h"
#include "ops/ops.h"
#include "tensor/axis_words.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Axes = std::vector<std::int64_t>;

/// Returns 0, 1, ..., limit - 1; `limit` is an i64 scalar.
Expected<ValueId> numbers_below(NodeCtx& ctx, ValueId limit) {
  return ctx.op(ops::range_op, {ctx.integer_value(0), limit, ctx.integer_value(1)});
}

/// Reshapes a list to `rank` axes, with its elements along `axis`.
Expected<ValueId> along_axis(NodeCtx& ctx, ValueId list, int axis, int rank) {
  Axes axes;
  for (int i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return ctx.op(ops::unsqueeze_op, {list}, {{"axes", std::move(axes)}});
}

/// Returns the positions along an axis: 0, 1, ..., size - 1.
Expected<ValueId> positions(NodeCtx& ctx, ValueId x, std::int64_t axis) {
  SCANLOOM_TRY(const ValueId size, ctx.op(ops::dim_op, {x}, {{"axis", axis}}));
  return numbers_below(ctx, size);
}

}  // namespace

// Row i has a 1 in column i + k.
Expected<void> convert_eye_like(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  if (rank != 2) return invalid_model("{} has {} axes, not 2", ctx.describe_input(0), rank);
  SCANLOOM_TRY(const std::int64_t k, ctx.integer("k", 0));
  DType dtype = ctx.type(x).dtype;
  if (ctx.has_attribute("dtype")) {
    SCANLOOM_TRY(const std::int64_t number, ctx.integer("dtype", 0));
    SCANLOOM_TRY(dtype, dtype_of_number(number));
  }
  SCANLOOM_TRY(ValueId rows, positions(ctx, x, 0));
  SCANLOOM_TRY(rows, ctx.op(ops::add_op, {rows, ctx.integer_value(k)}));
  SCANLOOM_TRY(rows, along_axis(ctx, rows, 0, 2));
  SCANLOOM_TRY(const ValueId columns, positions(ctx, x, 1));
  SCANLOOM_TRY(const ValueId equal, ctx.op(ops::equal_op, {rows, columns}));
  SCANLOOM_TRY(const ValueId y, ctx.cast(equal, dtype));
  ctx.set_output(0, y);
  return {};
}

namespace {

/// Returns 1 at the largest element along the axis (the first of equal ones), 0 elsewhere.
Expected<ValueId> hardmax(NodeCtx& ctx, ValueId x, std::int64_t given, int rank) {
  const auto axis = tensor::normalise_axis(given, rank);
  if (!axis) return invalid_model("attribute 'axis' is {}, {}", given, tensor::outside_axes(rank));
  SCANLOOM_TRY(
      const ValueId best,
      ctx.op(ops::argmax_op, {x}, {{"axis", *axis}, {"keepdims", 1}, {"select_last_index", 0}}));
  SCANLOOM_TRY(ValueId indices, positions(ctx, x, *axis));
  SCANLOOM_TRY(indices, along_axis(ctx, indices, *axis, rank));
  SCANLOOM_TRY(const ValueId equal, ctx.op(ops::equal_op, {best, indices}));
  return ctx.cast(equal, ctx.type(x).dtype);
}

}  // namespace

// Like Softmax, before version 13 all axes from `axis` on are treated as one.
Expected<void> convert_hardmax(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  const bool one_axis = ctx.version() >= 13;
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", one_axis ? -1 : 1));
  if (one_axis) {
    SCANLOOM_TRY(const int rank, ctx.rank(0, x));
    SCANLOOM_TRY(const ValueId y, hardmax(ctx, x, axis, rank));
    ctx.set_output(0, y);
    return {};
  }
  SCANLOOM_TRY(const ValueId shape, ctx.op(ops::shape_op, {x}, {{"start", 0}}));
  SCANLOOM_TRY(const ValueId flat, ctx.op(ops::flatten_op, {x}, {{"axis", axis}}));
  SCANLOOM_TRY(const ValueId y, hardmax(ctx, flat, 1, 2));
  return ctx.emit(ops::reshape_op, {y, shape}, {{"allowzero", 1}});
}

// Since version 11 negative indices count from the end. Indices out of range select nothing.
Expected<void> convert_one_hot(NodeCtx& ctx) {
  SCANLOOM_TRY(ValueId indices, ctx.in(0));
  SCANLOOM_TRY(ValueId depth, ctx.in(1));
  SCANLOOM_TRY(const ValueId values, ctx.in(2));
  SCANLOOM_TRY(const std::int64_t given, ctx.integer("axis", -1));
  SCANLOOM_TRY(const int rank, ctx.rank(0, indices));
  const auto axis = tensor::normalise_axis(given, rank + 1);
  if (!axis)
    return invalid_model("attribute 'axis' is {}, outside [-{}, {})", given, rank + 1, rank + 1);
  SCANLOOM_TRY(indices, ctx.cast(indices, DType::i64));
  SCANLOOM_TRY(depth, ctx.cast(depth, DType::i64));
  SCANLOOM_TRY(depth, ctx.op(ops::reshape_op, {depth, ctx.integers_value({})}, {{"allowzero", 0}}));
  if (ctx.version() >= 11) {
    SCANLOOM_TRY(const ValueId negative, ctx.op(ops::less_op, {indices, ctx.integer_value(0)}));
    SCANLOOM_TRY(const ValueId moved, ctx.op(ops::add_op, {indices, depth}));
    SCANLOOM_TRY(indices, ctx.op(ops::where_op, {negative, moved, indices}));
  }
  SCANLOOM_TRY(indices, ctx.op(ops::unsqueeze_op, {indices}, {{"axes", Axes{*axis}}}));
  SCANLOOM_TRY(ValueId classes, numbers_below(ctx, depth));
  SCANLOOM_TRY(classes, along_axis(ctx, classes, *axis, rank + 1));
  SCANLOOM_TRY(const ValueId hot, ctx.op(ops::equal_op, {indices, classes}));
  ValueId off_and_on[2];
  for (int i = 0; i < 2; ++i) {
    SCANLOOM_TRY(off_and_on[i],
                 ctx.op(ops::gather_op, {values, ctx.integer_value(i)}, {{"axis", 0}}));
  }
  return ctx.emit(ops::where_op, {hot, off_and_on[1], off_and_on[0]});
}

Expected<void> convert_range(NodeCtx& ctx) {
  ctx.ignore("stash_type");
  SCANLOOM_TRY(const ValueId start, ctx.in(0));
  SCANLOOM_TRY(const ValueId limit, ctx.in(1));
  SCANLOOM_TRY(const ValueId delta, ctx.in(2));
  return ctx.emit(ops::range_op, {start, limit, delta});
}

// The upper part keeps column >= row + k, the lower part column <= row + k. Both sides are compared
// in i32, which takes half the time, after the rows' side is limited to the columns there are.
Expected<void> convert_trilu(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(ValueId k, ctx.optional_in(1));
  SCANLOOM_TRY(const std::int64_t upper, ctx.integer("upper", 1));
  if (k.valid()) SCANLOOM_CHECK_OK(check_one_element(ctx.describe_input(1), ctx.type(k)));
  if (!k.valid()) k = ctx.integer_value(0);
  SCANLOOM_TRY(const ValueId height, ctx.op(ops::dim_op, {x}, {{"axis", -2}}));
  SCANLOOM_TRY(const ValueId width, ctx.op(ops::dim_op, {x}, {{"axis", -1}}));
  SCANLOOM_TRY(const ValueId least, ctx.op(ops::neg_op, {height}));
  SCANLOOM_TRY(k, ctx.op(ops::clip_op, {k, least, width}));
  SCANLOOM_TRY(ValueId rows, numbers_below(ctx, height));
  SCANLOOM_TRY(rows, ctx.op(ops::add_op, {rows, k}));
  SCANLOOM_TRY(rows, ctx.op(ops::clip_op, {rows, ctx.integer_value(-1), width}));
  SCANLOOM_TRY(rows, ctx.cast(rows, DType::i32));
  SCANLOOM_TRY(rows, ctx.op(ops::unsqueeze_op, {rows}, {{"axes", std::vector<std::int64_t>{1}}}));
  SCANLOOM_TRY(const ValueId none, ctx.scalar(0, DType::i32));
  SCANLOOM_TRY(const ValueId one, ctx.scalar(1, DType::i32));
  SCANLOOM_TRY(const ValueId limit, ctx.cast(width, DType::i32));
  SCANLOOM_TRY(const ValueId columns, ctx.op(ops::range_op, {none, limit, one}));
  const auto order =
      upper != 0 ? std::vector<ValueId>{rows, columns} : std::vector<ValueId>{columns, rows};
  SCANLOOM_TRY(const ValueId kept, ctx.op(ops::less_equal_op, order));
  SCANLOOM_TRY(const ValueId zero, ctx.scalar(0, ctx.type(x).dtype));
  return ctx.emit(ops::where_op, {kept, x, zero});
}

}  // namespace scanloom::onnx
