// Compress, CumProd, DepthToSpace, Det, EyeLike, Hardmax, NonMaxSuppression, OneHot,
// ReverseSequence, SpaceToDepth, Unique.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

using Axes = std::vector<std::int64_t>;

Expected<int> known_rank(NodeCtx& ctx, int input, ValueId x) {
  const tensor::Type& type = ctx.type(x);
  if (!type.ranked)
    return fail(Code::unsupported, "{} has an unknown number of axes", ctx.describe_input(input));
  return type.rank();
}

/// 0, 1, ... before `limit`, a scalar i64.
Expected<ValueId> numbers_below(NodeCtx& ctx, ValueId limit) {
  return ctx.op(ops::range_op, {ctx.integer_value(0), limit, ctx.integer_value(1)});
}

Expected<ValueId> size_of(NodeCtx& ctx, ValueId x, std::int64_t axis) {
  return ctx.op(ops::dim_op, {x}, {{"axis", axis}});
}

/// A list as a column of `rank` axes: its elements along `axis`.
Expected<ValueId> along_axis(NodeCtx& ctx, ValueId list, int axis, int rank) {
  Axes axes;
  for (int i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return ctx.op(ops::unsqueeze_op, {list}, {{"axes", std::move(axes)}});
}

}  // namespace

Expected<void> convert_compress(NodeCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId condition, ctx.in(1));
  const tensor::Type& type = ctx.type(condition);
  if (type.ranked && type.rank() != 1)
    return invalid_model("{} has {} axes, not 1", ctx.describe_input(1), type.rank());
  std::int64_t axis = 0;
  if (ctx.has_attribute("axis")) {
    SCANLOOM_TRY(axis, ctx.integer("axis", 0));
  } else {
    const std::int64_t all[] = {-1};
    SCANLOOM_TRY(x, ctx.op(ops::reshape_op, {x, ctx.integers_value(all)}, {{"allowzero", 0}}));
  }
  SCANLOOM_TRY(const ValueId found, ctx.op(ops::non_zero_op, {condition}));
  SCANLOOM_TRY(const ValueId indices, ctx.op(ops::squeeze_op, {found}, {{"axes", Axes{0}}}));
  return ctx.emit(ops::gather_op, {x, indices}, {{"axis", axis}});
}

Expected<void> convert_cumprod(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId axis, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t exclusive, ctx.integer("exclusive", 0));
  SCANLOOM_TRY(const std::int64_t reverse, ctx.integer("reverse", 0));
  return ctx.emit(ops::cumprod_op, {x, axis},
                  {{"exclusive", exclusive != 0}, {"reverse", reverse != 0}});
}

Expected<void> convert_det(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ir::NodeId node, ctx.builder().node(ops::det_op, {x}, {}, 2));
  ctx.set_output(0, ctx.module().node(node).outputs[0]);
  return {};
}

namespace {

/// One size of a reshape: a known number, or a one-element list that is computed.
class Sizes {
 public:
  explicit Sizes(NodeCtx& ctx) : ctx_(ctx) {}

  void add(std::int64_t number) {
    const std::int64_t one[] = {number};
    parts_.push_back(ctx_.integers_value(one));
  }
  /// The size of an axis of x, times `factor`, divided by `divisor`.
  Expected<void> add(ValueId x, int axis, std::int64_t factor, std::int64_t divisor) {
    SCANLOOM_TRY(ValueId size, size_of(ctx_, x, axis));
    if (factor != 1) {
      SCANLOOM_TRY(size, ctx_.op(ops::mul_op, {size, ctx_.integer_value(factor)}));
    }
    if (divisor != 1) {
      SCANLOOM_TRY(size, ctx_.op(ops::div_op, {size, ctx_.integer_value(divisor)}));
    }
    SCANLOOM_TRY(size, ctx_.op(ops::unsqueeze_op, {size}, {{"axes", Axes{0}}}));
    parts_.push_back(size);
    return {};
  }
  Expected<ValueId> reshape(ValueId x) {
    SCANLOOM_TRY(const ValueId shape, ctx_.op(ops::concat_op, std::move(parts_), {{"axis", 0}}));
    return ctx_.op(ops::reshape_op, {x, shape}, {{"allowzero", 1}});
  }

 private:
  NodeCtx& ctx_;
  std::vector<ValueId> parts_;
};

/// x, of four axes, and blocksize, which divides the sizes of the axes named.
Expected<std::int64_t> block_of(NodeCtx& ctx, ValueId x, std::initializer_list<int> axes,
                                bool squared) {
  SCANLOOM_TRY(const std::int64_t block, ctx.required_integer("blocksize"));
  if (block < 1 || block > std::int64_t{1} << 20)
    return invalid_model("attribute 'blocksize' is {}, outside [1, 2^20]", block);
  const tensor::Type& type = ctx.type(x);
  if (!type.ranked)
    return fail(Code::unsupported, "{} has an unknown number of axes", ctx.describe_input(0));
  if (type.rank() != 4)
    return invalid_model("{} has {} axes, not 4", ctx.describe_input(0), type.rank());
  const std::int64_t divisor = squared ? block * block : block;
  for (const int axis : axes) {
    const tensor::Dim size = type.dims[static_cast<std::size_t>(axis)];
    if (size.is_constant() && size.value() % divisor != 0)
      return invalid_model("{} has size {} on axis {}, which {} does not divide",
                           ctx.describe_input(0), size.value(), axis, divisor);
  }
  return block;
}

Expected<bool> depth_first(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::string mode, ctx.text("mode", "DCR"));
  if (mode != "DCR" && mode != "CRD")
    return invalid_model("attribute 'mode' is '{}', neither DCR nor CRD", mode);
  return mode == "DCR";
}

}  // namespace

// [b, c, h, w] as [b, n, n, c', h, w], or for CRD [b, c', n, n, h, w], to [b, c', h, n, w, n].
Expected<void> convert_depth_to_space(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t block, block_of(ctx, x, {1}, true));
  SCANLOOM_TRY(const bool depth, depth_first(ctx));
  Sizes split(ctx);
  SCANLOOM_CHECK_OK(split.add(x, 0, 1, 1));
  if (!depth) SCANLOOM_CHECK_OK(split.add(x, 1, 1, block * block));
  split.add(block);
  split.add(block);
  if (depth) SCANLOOM_CHECK_OK(split.add(x, 1, 1, block * block));
  SCANLOOM_CHECK_OK(split.add(x, 2, 1, 1));
  SCANLOOM_CHECK_OK(split.add(x, 3, 1, 1));
  SCANLOOM_TRY(ValueId y, split.reshape(x));
  const Axes perm = depth ? Axes{0, 3, 4, 1, 5, 2} : Axes{0, 1, 4, 2, 5, 3};
  SCANLOOM_TRY(y, ctx.op(ops::transpose_op, {y}, {{"perm", perm}}));
  Sizes joined(ctx);
  SCANLOOM_CHECK_OK(joined.add(x, 0, 1, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 1, 1, block * block));
  SCANLOOM_CHECK_OK(joined.add(x, 2, block, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 3, block, 1));
  SCANLOOM_TRY(y, joined.reshape(y));
  ctx.set_output(0, y);
  return {};
}

// [b, c, h', n, w', n] to [b, n, n, c, h', w'], or for CRD to [b, c, n, n, h', w'].
Expected<void> convert_space_to_depth(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t block, block_of(ctx, x, {2, 3}, false));
  SCANLOOM_TRY(const bool depth, depth_first(ctx));
  Sizes split(ctx);
  SCANLOOM_CHECK_OK(split.add(x, 0, 1, 1));
  SCANLOOM_CHECK_OK(split.add(x, 1, 1, 1));
  SCANLOOM_CHECK_OK(split.add(x, 2, 1, block));
  split.add(block);
  SCANLOOM_CHECK_OK(split.add(x, 3, 1, block));
  split.add(block);
  SCANLOOM_TRY(ValueId y, split.reshape(x));
  const Axes perm = depth ? Axes{0, 3, 5, 1, 2, 4} : Axes{0, 1, 3, 5, 2, 4};
  SCANLOOM_TRY(y, ctx.op(ops::transpose_op, {y}, {{"perm", perm}}));
  Sizes joined(ctx);
  SCANLOOM_CHECK_OK(joined.add(x, 0, 1, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 1, block * block, 1));
  SCANLOOM_CHECK_OK(joined.add(x, 2, 1, block));
  SCANLOOM_CHECK_OK(joined.add(x, 3, 1, block));
  SCANLOOM_TRY(y, joined.reshape(y));
  ctx.set_output(0, y);
  return {};
}

// Row i has its 1 in column i + k.
Expected<void> convert_eye_like(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, known_rank(ctx, 0, x));
  if (rank != 2) return invalid_model("{} has {} axes, not 2", ctx.describe_input(0), rank);
  SCANLOOM_TRY(const std::int64_t k, ctx.integer("k", 0));
  DType dtype = ctx.type(x).dtype;
  if (ctx.has_attribute("dtype")) {
    SCANLOOM_TRY(const std::int64_t number, ctx.integer("dtype", 0));
    SCANLOOM_TRY(dtype, dtype_of_number(number));
  }
  SCANLOOM_TRY(const ValueId row_count, size_of(ctx, x, 0));
  SCANLOOM_TRY(const ValueId column_count, size_of(ctx, x, 1));
  SCANLOOM_TRY(ValueId rows, numbers_below(ctx, row_count));
  SCANLOOM_TRY(rows, ctx.op(ops::add_op, {rows, ctx.integer_value(k)}));
  SCANLOOM_TRY(rows, along_axis(ctx, rows, 0, 2));
  SCANLOOM_TRY(const ValueId columns, numbers_below(ctx, column_count));
  SCANLOOM_TRY(const ValueId equal, ctx.op(ops::equal_op, {rows, columns}));
  SCANLOOM_TRY(const ValueId y, ctx.cast(equal, dtype));
  ctx.set_output(0, y);
  return {};
}

namespace {

/// 1 at the greatest element along the axis, the first among equals, 0 elsewhere.
Expected<ValueId> hardmax(NodeCtx& ctx, ValueId x, std::int64_t given, int rank) {
  const auto axis = tensor::normalise_axis(given, rank);
  if (!axis) return invalid_model("attribute 'axis' is {}, outside [-{}, {})", given, rank, rank);
  SCANLOOM_TRY(
      const ValueId best,
      ctx.op(ops::argmax_op, {x}, {{"axis", *axis}, {"keepdims", 1}, {"select_last_index", 0}}));
  SCANLOOM_TRY(const ValueId size, size_of(ctx, x, *axis));
  SCANLOOM_TRY(ValueId indices, numbers_below(ctx, size));
  SCANLOOM_TRY(indices, along_axis(ctx, indices, *axis, rank));
  SCANLOOM_TRY(const ValueId equal, ctx.op(ops::equal_op, {best, indices}));
  return ctx.cast(equal, ctx.type(x).dtype);
}

}  // namespace

// As Softmax: before version 13 over all axes from `axis` on, as if they were one.
Expected<void> convert_hardmax(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  const bool one_axis = ctx.version() >= 13;
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", one_axis ? -1 : 1));
  if (one_axis) {
    SCANLOOM_TRY(const int rank, known_rank(ctx, 0, x));
    SCANLOOM_TRY(const ValueId y, hardmax(ctx, x, axis, rank));
    ctx.set_output(0, y);
    return {};
  }
  SCANLOOM_TRY(const ValueId shape, ctx.op(ops::shape_op, {x}, {{"start", 0}}));
  SCANLOOM_TRY(const ValueId flat, ctx.op(ops::flatten_op, {x}, {{"axis", axis}}));
  SCANLOOM_TRY(const ValueId y, hardmax(ctx, flat, 1, 2));
  return ctx.emit(ops::reshape_op, {y, shape}, {{"allowzero", 1}});
}

Expected<void> convert_non_max_suppression(NodeCtx& ctx) {
  std::vector<ValueId> operands;
  for (int i = 0; i < 5; ++i) {
    SCANLOOM_TRY(const ValueId operand, i < 2 ? ctx.in(i) : ctx.optional_in(i));
    operands.push_back(operand);
  }
  SCANLOOM_TRY(const std::int64_t centered, ctx.integer("center_point_box", 0));
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::non_max_suppression_op, std::move(operands),
                                  {{"center_point_box", centered}}, 2));
  ctx.set_output(0, ctx.module().node(node).outputs[0]);
  return {};
}

// Negative indices count from the end from version 11 on; those outside select nothing.
Expected<void> convert_one_hot(NodeCtx& ctx) {
  SCANLOOM_TRY(ValueId indices, ctx.in(0));
  SCANLOOM_TRY(ValueId depth, ctx.in(1));
  SCANLOOM_TRY(const ValueId values, ctx.in(2));
  SCANLOOM_TRY(const std::int64_t given, ctx.integer("axis", -1));
  SCANLOOM_TRY(const int rank, known_rank(ctx, 0, indices));
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

Expected<void> convert_reverse_sequence(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId lengths, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t batch, ctx.integer("batch_axis", 1));
  SCANLOOM_TRY(const std::int64_t time, ctx.integer("time_axis", 0));
  for (const std::int64_t axis : {batch, time})
    if (axis != 0 && axis != 1)
      return invalid_model("attributes 'batch_axis' and 'time_axis' are {} and {}, not 0 and 1",
                           batch, time);
  return ctx.emit(ops::reverse_sequence_op, {x, lengths},
                  {{"batch_axis", batch}, {"time_axis", time}});
}

Expected<void> convert_unique(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t sorted, ctx.integer("sorted", 1));
  std::vector<ir::NamedAttr> attrs = {{"sorted", sorted != 0}};
  if (ctx.has_attribute("axis")) {
    SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
    attrs.push_back({"axis", axis});
  }
  SCANLOOM_TRY(const ir::NodeId node, ctx.builder().node(ops::unique_op, {x}, std::move(attrs), 4));
  for (int i = 0; i < 4; ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

}  // namespace scanloom::onnx
