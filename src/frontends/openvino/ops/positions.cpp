// Operations that count or compare positions: Bucketize, Eye, OneHot, Range, SearchSorted.
#include <algorithm>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"
#include "frontends/openvino/wide_sizes.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

using Ints = std::vector<std::int64_t>;

/// Reshapes a list to `rank` axes, with its elements along `axis`.
ValueId along_axis(Composer& c, ValueId list, int axis, int rank) {
  Ints axes;
  for (int i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return axes.empty() ? list : c.unsqueeze(list, std::move(axes));
}

/// Returns the only element of input i.
Expected<ValueId> scalar_operand(LayerCtx& ctx, int i) {
  SCANLOOM_TRY(const ValueId x, ctx.in(i));
  const tensor::Type& type = ctx.type(x);
  if (type.is_static() && type.shape().elements() != 1)
    return invalid_model("input {} is {}, but one element is needed", i, describe_type(ctx, x));
  if (type.ranked && type.rank() == 0) return x;
  Composer c(ctx.builder());
  const ValueId scalar = c.reshape(x, c.list({}));
  SCANLOOM_CHECK_OK(c.done());
  return scalar;
}

/// Counts between bounds in `dtype`, or in i64 if they are sizes, because a narrowing would hide
/// the number of elements.
ValueId count_between(Composer& c, std::vector<ValueId> bounds, DType dtype) {
  bool sizes = dtype == DType::i32;
  for (ValueId& bound : bounds) {
    bound = widest(c.builder(), bound);
    sizes = sizes && is_integer(c.dtype(bound));
  }
  sizes = sizes &&
          std::ranges::any_of(bounds, [&](ValueId bound) { return c.dtype(bound) == DType::i64; });
  for (ValueId& bound : bounds) bound = c.cast(bound, sizes ? DType::i64 : dtype);
  return c.cast(c.op(ops::range_op, std::move(bounds)), dtype);
}

}  // namespace

// Version 4 counts in the type of attribute output_type, to which the operands are converted first.
Expected<void> convert_range(LayerCtx& ctx) {
  Composer c(ctx.builder());
  std::vector<ValueId> bounds;
  for (int i = 0; i < 3; ++i) {
    SCANLOOM_TRY(const ValueId bound, scalar_operand(ctx, i));
    bounds.push_back(bound);
  }
  DType dtype = ctx.type(bounds[0]).dtype;
  if (ctx.version() >= 4) {
    SCANLOOM_TRY(dtype, ctx.attributes.dtype("output_type"));
  } else if (ctx.type(bounds[1]).dtype != dtype || ctx.type(bounds[2]).dtype != dtype) {
    return invalid_model("inputs 0, 1 and 2 are {}, {} and {}, of different element types",
                         dtype_name(dtype), dtype_name(ctx.type(bounds[1]).dtype),
                         dtype_name(ctx.type(bounds[2]).dtype));
  }
  const ValueId numbers = count_between(c, std::move(bounds), dtype);
  return ctx.emit(c, numbers);
}

// Indices outside [0, depth) select nothing; since version 16 negative ones may count from the end.
Expected<void> convert_one_hot(LayerCtx& ctx) {
  SCANLOOM_TRY(ValueId indices, index_operand(ctx, 0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, indices));
  SCANLOOM_TRY(const int axis, axis_attribute(ctx, "axis", -1, rank + 1));
  SCANLOOM_TRY(const ValueId depth, index_scalar(ctx, 1));
  SCANLOOM_TRY(const ValueId on, scalar_operand(ctx, 2));
  SCANLOOM_TRY(const ValueId off, scalar_operand(ctx, 3));
  SCANLOOM_TRY(const std::string mode,
               ctx.attributes.choice("negative_indices_mode", "ignore_negative",
                                     {"ignore_negative", "normalize"}));
  Composer c(ctx.builder());
  if (mode == "normalize")
    indices = c.where(c.less(indices, c.number(0)), c.add(indices, depth), indices);
  const ValueId classes = along_axis(c, c.count_up(depth), axis, rank + 1);
  return ctx.emit(c, c.where(c.equal(c.unsqueeze(indices, {axis}), classes), on, off));
}

// Row i has a 1 in column i + diagonal_index. batch_shape gives the sizes of leading axes.
Expected<void> convert_eye(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId rows, index_scalar(ctx, 0));
  SCANLOOM_TRY(const ValueId columns, index_scalar(ctx, 1));
  SCANLOOM_TRY(const ValueId diagonal, index_scalar(ctx, 2));
  SCANLOOM_TRY(const DType dtype, ctx.attributes.dtype("output_type"));
  Composer c(ctx.builder());
  limit_elements(c, c.join({rows, columns}));
  const ValueId ones = c.unsqueeze(c.add(c.count_up(rows), diagonal), {1});
  const ValueId matrix = c.cast(c.equal(ones, c.count_up(columns)), dtype);
  if (!ctx.has(3)) return ctx.emit(c, matrix);
  SCANLOOM_TRY(const ValueId batch, index_list(ctx, 3));
  return ctx.emit(c, c.expand(matrix, c.join({batch, rows, columns})));
}

namespace {

/// Two operands converted to a common type that represents both.
struct Comparable {
  ValueId values, bounds;

  Comparable(Composer& c, ValueId x, ValueId y) : values(x), bounds(y) {
    if (c.dtype(x) == c.dtype(y)) return;
    const bool whole = is_integer(c.dtype(x)) && is_integer(c.dtype(y));
    values = c.cast(x, whole ? DType::i64 : DType::f64);
    bounds = c.cast(y, whole ? DType::i64 : DType::f64);
  }
};

/// Returns how many of the bounds, along the last axis, are less than each value or, with
/// `or_equal`, at most equal to it.
ValueId bounds_passed(Composer& c, ValueId values, ValueId bounds, bool or_equal) {
  const ValueId passed = or_equal ? c.less_equal(bounds, values) : c.less(bounds, values);
  return c.op(ops::reduce_op, {c.cast(passed, DType::i64)},
              {{"kind", "sum"}, {"axes", Ints{-1}}, {"keepdims", 0}});
}

}  // namespace

// A bucket includes its right bound or, if with_right_bound is false, its left bound.
Expected<void> convert_bucketize(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId buckets, ctx.in(1));
  SCANLOOM_TRY(const int rank, ctx.rank(1, buckets));
  if (rank != 1) return invalid_model("input 1 has {} axes, not 1", rank);
  SCANLOOM_TRY(const bool right, ctx.attributes.boolean("with_right_bound", true));
  Composer c(ctx.builder());
  const Comparable x(c, data, buckets);
  const ValueId found = bounds_passed(c, c.unsqueeze(x.values, {-1}), x.bounds, !right);
  return set_indices(ctx, c, 0, found, "output_type");
}

// One sorted list for all values, or one for each row of values.
Expected<void> convert_search_sorted(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId sorted, ctx.in(0));
  SCANLOOM_TRY(const ValueId values, ctx.in(1));
  SCANLOOM_TRY(const int rank, ctx.rank(0, sorted, 1));
  SCANLOOM_TRY(const int own, ctx.rank(1, values));
  if (rank != 1 && rank != own)
    return invalid_model("input 0 has {} axes, input 1 has {}", rank, own);
  SCANLOOM_TRY(const bool right, ctx.attributes.boolean("right_mode", false));
  Composer c(ctx.builder());
  const Comparable x(c, values, sorted);
  const ValueId bounds = rank == 1 ? x.bounds : c.unsqueeze(x.bounds, {-2});
  const ValueId found = bounds_passed(c, c.unsqueeze(x.values, {-1}), bounds, right);
  return set_indices(ctx, c, 0, found, "output_type");
}

}  // namespace scanloom::openvino
