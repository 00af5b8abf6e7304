// Operators that select, order or join parts: ArrayFeatureExtractor, Compress, Concat, Gather,
// GatherElements, NonMaxSuppression, NonZero, ReverseSequence, Slice, Split, TopK, Unique.
#include "frontends/onnx/ops/converters.h"
#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;

Expected<void> convert_concat(NodeCtx& ctx) {
  const bool has_default = ctx.version() < 4;
  SCANLOOM_TRY(const std::int64_t axis,
               has_default ? ctx.integer("axis", 1) : ctx.required_integer("axis"));
  std::vector<ValueId> parts;
  for (int i = 0; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(const ValueId part, ctx.in(i));
    parts.push_back(part);
  }
  return ctx.emit(ops::concat_op, std::move(parts), {{"axis", axis}});
}

Expected<void> convert_gather(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
  return ctx.emit(ops::gather_op, {data, indices}, {{"axis", axis}});
}

Expected<void> convert_gather_elements(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, ctx.in(1));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
  return ctx.emit(ops::gather_elements_op, {data, indices}, {{"axis", axis}});
}

// Selects columns by index, whatever the shape of the indices. One row stays a matrix with one row.
Expected<void> convert_array_feature_extractor(NodeCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, ctx.in(1));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  if (rank == 1) {
    SCANLOOM_TRY(x, ctx.op(ops::unsqueeze_op, {x}, {{"axes", std::vector<std::int64_t>{0}}}));
  }
  const std::int64_t all[] = {-1};
  SCANLOOM_TRY(const ValueId flat,
               ctx.op(ops::reshape_op, {indices, ctx.integers_value(all)}, {{"allowzero", 0}}));
  return ctx.emit(ops::gather_op, {x, flat}, {{"axis", -1}});
}

Expected<void> convert_non_zero(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  return ctx.emit(ops::non_zero_op, {x});
}

namespace {

Expected<void> convert_slice_1(NodeCtx& ctx, ValueId x) {
  SCANLOOM_TRY(const auto starts, ctx.integers("starts"));
  SCANLOOM_TRY(const auto ends, ctx.integers("ends"));
  SCANLOOM_TRY(const auto axes, ctx.integers("axes"));
  if (starts.size() != ends.size())
    return invalid_model("attribute 'starts' has {} entries, 'ends' has {}", starts.size(),
                         ends.size());
  std::vector<ValueId> operands = {x, ctx.integers_value(starts), ctx.integers_value(ends)};
  if (ctx.has_attribute("axes")) operands.push_back(ctx.integers_value(axes));
  return ctx.emit(ops::slice_op, std::move(operands));
}

}  // namespace

// Up to version 9 attributes give the window, and there are no steps.
Expected<void> convert_slice(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  if (ctx.version() < 10) return convert_slice_1(ctx, x);
  SCANLOOM_TRY(const ValueId starts, ctx.in(1));
  SCANLOOM_TRY(const ValueId ends, ctx.in(2));
  SCANLOOM_TRY(const ValueId axes, ctx.optional_in(3));
  SCANLOOM_TRY(const ValueId steps, ctx.optional_in(4));
  return ctx.emit(ops::slice_op, {x, starts, ends, axes, steps});
}

// The sizes are an attribute up to version 11 and an operand since 13. Version 1 allows either, and
// the operand has the type of x. Without sizes the parts are equal; since version 18 the last one
// may be smaller.
Expected<void> convert_split(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", 0));
  ValueId sizes;
  if (ctx.version() >= 13) {
    SCANLOOM_TRY(sizes, ctx.optional_in(1));
  } else if (ctx.version() < 2 && ctx.has(1)) {
    SCANLOOM_TRY(sizes, ctx.in(1));
    SCANLOOM_TRY(sizes, ctx.cast(sizes, DType::i64));
  } else if (ctx.has_attribute("split")) {
    SCANLOOM_TRY(const auto list, ctx.integers("split"));
    sizes = ctx.integers_value(list);
  }
  SCANLOOM_TRY(const std::int64_t count, ctx.integer("num_outputs", ctx.output_count()));
  if (count != ctx.output_count())
    return invalid_model("attribute 'num_outputs' is {}, but the node has {} outputs", count,
                         ctx.output_count());
  std::vector<ValueId> operands = {x};
  if (sizes.valid()) operands.push_back(sizes);
  const auto results = static_cast<std::size_t>(ctx.output_count());
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::split_op, std::move(operands), {{"axis", axis}}, results));
  for (int i = 0; i < ctx.output_count(); ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

// k is an attribute in version 1, an operand since 10.
Expected<void> convert_topk(NodeCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  ValueId k;
  if (ctx.version() < 10) {
    SCANLOOM_TRY(const std::int64_t count, ctx.required_integer("k"));
    k = ctx.integer_value(count);
  } else {
    SCANLOOM_TRY(k, ctx.in(1));
  }
  SCANLOOM_TRY(const std::int64_t axis, ctx.integer("axis", -1));
  SCANLOOM_TRY(const std::int64_t largest, ctx.integer("largest", 1));
  SCANLOOM_TRY(const std::int64_t sorted, ctx.integer("sorted", 1));
  SCANLOOM_TRY(
      const ir::NodeId node,
      ctx.builder().node(ops::topk_op, {x, k},
                         {{"axis", axis}, {"largest", largest != 0}, {"sorted", sorted != 0}}, 2));
  for (int i = 0; i < 2; ++i)
    ctx.set_output(i, ctx.module().node(node).outputs[static_cast<std::size_t>(i)]);
  return {};
}

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
  SCANLOOM_TRY(const ValueId indices,
               ctx.op(ops::squeeze_op, {found}, {{"axes", std::vector<std::int64_t>{0}}}));
  return ctx.emit(ops::gather_op, {x, indices}, {{"axis", axis}});
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
