// Operations that select, order or join parts: Concat, CumSum, the Gather family, NonZero, Reverse,
// ReverseSequence, Roll, Split, Unique, VariadicSplit.
#include <algorithm>
#include <limits>

#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

using Ints = std::vector<std::int64_t>;

Expected<void> set_outputs(LayerCtx& ctx, ir::NodeId node) {
  const auto& outputs = ctx.module().node(node).outputs;
  for (int i = 0; i < ctx.output_count(); ++i)
    ctx.set_output(i, outputs[static_cast<std::size_t>(i)]);
  return {};
}

}  // namespace

Expected<void> convert_concat(LayerCtx& ctx) {
  SCANLOOM_TRY(const std::int64_t axis, ctx.attributes.integer("axis"));
  std::vector<ValueId> parts;
  for (int i = 0; i < ctx.input_count(); ++i) {
    SCANLOOM_TRY(const ValueId part, ctx.in(i));
    parts.push_back(part);
  }
  return ctx.emit(ops::concat_op, std::move(parts), {{"axis", axis}});
}

Expected<void> convert_cumsum(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  ValueId axis = ctx.builder().constant(tensor::Tensor::scalar<std::int64_t>(0));
  if (ctx.has(1)) {
    SCANLOOM_TRY(axis, index_scalar(ctx, 1));
  }
  SCANLOOM_TRY(const bool exclusive, ctx.attributes.boolean("exclusive", false));
  SCANLOOM_TRY(const bool reverse, ctx.attributes.boolean("reverse", false));
  return ctx.emit(ops::cumsum_op, {x, axis}, {{"exclusive", exclusive}, {"reverse", reverse}});
}

Expected<void> convert_non_zero(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  Composer c(ctx.builder());
  return set_indices(ctx, c, 0, c.op(ops::non_zero_op, {x}), "output_type");
}

Expected<void> convert_unique(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const bool sorted, ctx.attributes.boolean("sorted", true));
  std::vector<ir::NamedAttr> attrs = {{"sorted", sorted}};
  if (ctx.has(1)) {
    SCANLOOM_TRY(const std::int64_t axis, ctx.constant_integer(1));
    attrs.push_back({"axis", axis});
  }
  SCANLOOM_TRY(const ir::NodeId node, ctx.builder().node(ops::unique_op, {x}, std::move(attrs), 4));
  ValueId results[4];
  for (std::size_t i = 0; i < 4; ++i) results[i] = ctx.module().node(node).outputs[i];
  ctx.set_output(0, results[0]);
  Composer c(ctx.builder());
  for (int i = 1; i < 4; ++i)
    SCANLOOM_CHECK_OK(
        set_indices(ctx, c, i, results[i], i < 3 ? "index_element_type" : "count_element_type"));
  return {};
}

// Splits and gathers.

namespace {

/// Returns the axis to split. If it counts from the front, the rank need not be known.
Expected<int> split_axis(LayerCtx& ctx, ValueId x) {
  if (!ctx.type(x).ranked && ctx.constant(1) != nullptr) {
    SCANLOOM_TRY(const std::int64_t axis, ctx.constant_integer(1));
    if (axis >= 0 && axis < tensor::kMaxRank) return static_cast<int>(axis);
  }
  SCANLOOM_TRY(const int rank, ctx.rank(0, x, 1));
  return axis_operand(ctx, 1, rank);
}

}  // namespace

Expected<void> convert_split(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int axis, split_axis(ctx, x));
  SCANLOOM_TRY(const std::int64_t parts, ctx.attributes.integer("num_splits"));
  if (parts != ctx.output_count() || parts < 1)
    return invalid_model("attribute 'num_splits' is {}, but the layer has {} outputs", parts,
                         ctx.output_count());
  const tensor::Type& type = ctx.type(x);
  std::vector<ValueId> operands = {x};
  if (type.ranked && type.dims[static_cast<std::size_t>(axis)].is_constant()) {
    const std::int64_t size = type.dims[static_cast<std::size_t>(axis)].value();
    if (size % parts != 0)
      return invalid_model("input 0 has size {} on axis {}, which is not divisible into {} parts",
                           size, axis, parts);
  } else {
    // Passing the sizes, which must add up, makes a run fail if the parts do not divide the axis.
    Composer c(ctx.builder());
    const ValueId part = c.unsqueeze(c.div(c.dim(x, axis), c.number(parts)), {0});
    operands.push_back(c.concat(std::vector<ValueId>(static_cast<std::size_t>(parts), part), 0));
    SCANLOOM_CHECK_OK(c.done());
  }
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::split_op, std::move(operands), {{"axis", axis}},
                                  static_cast<std::size_t>(parts)));
  return set_outputs(ctx, node);
}

namespace {

/// Returns the lengths of the parts; -1 stands for the rest of the axis.
Expected<ValueId> part_lengths(LayerCtx& ctx, ValueId x, int axis) {
  Composer c(ctx.builder());
  if (ctx.constant(2) == nullptr) {
    const ValueId lengths = c.take(index_list(ctx, 2));
    const ValueId given =
        c.op(ops::reduce_op, {c.max(lengths, c.number(0))}, {{"kind", "sum"}, {"keepdims", 0}});
    const ValueId rest = c.sub(c.dim(x, axis), given);
    const ValueId sizes = c.where(c.less(lengths, c.number(0)), rest, lengths);
    SCANLOOM_CHECK_OK(c.done());
    return sizes;
  }
  SCANLOOM_TRY(const Ints lengths, ctx.constant_integers(2));
  constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;
  std::int64_t given = 0;
  for (const std::int64_t length : lengths) {
    given += std::clamp<std::int64_t>(length, 0, kMaxSize);
    if (given > kMaxSize) return invalid_model("input 2 has lengths of more than 2^40 in all");
  }
  const auto open = std::ranges::count(lengths, -1);
  if (open > 1 || std::ranges::min(lengths) < -1)
    return invalid_model(
        "input 2 has {} negative lengths, the smallest {}, but only one -1 is allowed", open,
        std::ranges::min(lengths));
  if (open == 0) return c.list(lengths);
  std::vector<ValueId> sizes;
  for (const std::int64_t length : lengths)
    sizes.push_back(length >= 0 ? c.list({length})
                                : c.unsqueeze(c.sub(c.dim(x, axis), c.number(given)), {0}));
  const ValueId joined = c.concat(std::move(sizes), 0);
  SCANLOOM_CHECK_OK(c.done());
  return joined;
}

}  // namespace

Expected<void> convert_variadic_split(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int axis, split_axis(ctx, x));
  SCANLOOM_TRY(const std::int64_t count, list_length(ctx, 2));
  if (count != ctx.output_count())
    return invalid_model("input 2 has {} lengths, but the layer has {} outputs", count,
                         ctx.output_count());
  SCANLOOM_TRY(const ValueId sizes, part_lengths(ctx, x, axis));
  SCANLOOM_TRY(const ir::NodeId node,
               ctx.builder().node(ops::split_op, {x, sizes}, {{"axis", axis}},
                                  static_cast<std::size_t>(count)));
  return set_outputs(ctx, node);
}

namespace {

/// Returns the number of leading axes that data and indices share.
Expected<int> batch_axes(LayerCtx& ctx, ValueId indices) {
  SCANLOOM_TRY(const std::int64_t given, ctx.attributes.integer("batch_dims", 0));
  if (given == 0) return 0;
  SCANLOOM_TRY(const int rank, ctx.rank(1, indices));
  const std::int64_t batch = given < 0 ? given + rank : given;
  if (batch < 0 || batch > rank)
    return invalid_model("attribute 'batch_dims' is {}, outside [-{}, {}]", given, rank, rank);
  return static_cast<int>(batch);
}

/// Moves the axis of data to just after the batch axes and gathers with tuples of one index; then
/// moves the axes in between back before those of the indices.
ValueId gather_in_batch(Composer& c, ValueId data, ValueId indices, int axis, int batch,
                        int data_rank, int indices_rank) {
  Ints to_front = ops::axes_between(0, batch);
  to_front.push_back(axis);
  for (int i = batch; i < data_rank; ++i)
    if (i != axis) to_front.push_back(i);
  const ValueId moved = axis == batch ? data : c.transpose(data, to_front);
  const ValueId picked =
      c.op(ops::gather_nd_op, {moved, c.unsqueeze(indices, {-1})}, {{"batch_dims", batch}});
  if (axis == batch) return picked;
  const int between = axis - batch, own = indices_rank - batch;
  Ints back = ops::axes_between(0, batch);
  for (int i = 0; i < between; ++i) back.push_back(batch + own + i);
  for (int i = 0; i < own; ++i) back.push_back(batch + i);
  for (int i = batch + own + between; i < data_rank + own - 1; ++i) back.push_back(i);
  return c.transpose(picked, back);
}

}  // namespace

Expected<void> convert_gather(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, indices_operand(ctx, 1));
  SCANLOOM_TRY(const int batch, batch_axes(ctx, indices));
  if (batch == 0 && !ctx.type(data).ranked) {
    SCANLOOM_TRY(const std::int64_t axis, ctx.constant_integer(2));
    return ctx.emit(ops::gather_op, {data, indices}, {{"axis", axis}});
  }
  SCANLOOM_TRY(const int rank, ctx.rank(0, data, 1));
  SCANLOOM_TRY(const int axis, axis_operand(ctx, 2, rank));
  if (batch == 0) return ctx.emit(ops::gather_op, {data, indices}, {{"axis", axis}});
  if (batch > axis)
    return invalid_model("attribute 'batch_dims' is {}, but the axis {} comes before its end",
                         batch, axis);
  SCANLOOM_TRY(const int indices_rank, ctx.rank(1, indices));
  Composer c(ctx.builder());
  return ctx.emit(c, gather_in_batch(c, data, indices, axis, batch, rank, indices_rank));
}

Expected<void> convert_gather_elements(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, indices_operand(ctx, 1));
  SCANLOOM_TRY(const std::int64_t axis, ctx.attributes.integer("axis"));
  return ctx.emit(ops::gather_elements_op, {data, indices}, {{"axis", axis}});
}

// Version 5 merges the batch axes into one.
Expected<void> convert_gather_nd(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId data, ctx.in(0));
  SCANLOOM_TRY(const ValueId indices, indices_operand(ctx, 1));
  SCANLOOM_TRY(const std::int64_t batch, ctx.attributes.integer("batch_dims", 0));
  if (batch < 0 || batch > tensor::kMaxRank)
    return invalid_model("attribute 'batch_dims' is {}, outside [0, {}]", batch, tensor::kMaxRank);
  Composer c(ctx.builder());
  const ValueId picked = c.op(ops::gather_nd_op, {data, indices}, {{"batch_dims", batch}});
  if (ctx.version() >= 8 || batch < 2) return ctx.emit(c, picked);
  ValueId size = c.dim(picked, 0);
  for (std::int64_t axis = 1; axis < batch; ++axis) size = c.mul(size, c.dim(picked, axis));
  return ctx.emit(c, c.reshape(picked, c.join({size, c.shape(picked, batch)})));
}

// Reordering.

// Mode mask has one boolean per axis, mode index lists the axes.
Expected<void> convert_reverse(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  SCANLOOM_TRY(const std::string mode, ctx.attributes.choice("mode", "index", {"index", "mask"}));
  Ints axes;
  if (mode == "mask") {
    const tensor::Tensor* const mask = ctx.constant(1);
    if (mask == nullptr)
      return fail(Code::unsupported, "input 1 must be a constant, but is computed");
    const auto flags = tensor::to_integers(*mask);
    if (!flags || static_cast<int>(flags->size()) != rank)
      return invalid_model("input 1 has {} elements, but input 0 has {} axes", mask->elements(),
                           rank);
    for (int axis = 0; axis < rank; ++axis)
      if ((*flags)[static_cast<std::size_t>(axis)] != 0) axes.push_back(axis);
  } else {
    SCANLOOM_TRY(axes, axes_operand(ctx, 1, rank));
  }
  if (axes.empty()) return convert_identity(ctx);
  Composer c(ctx.builder());
  const Ints last(axes.size(), -1), open(axes.size(), std::numeric_limits<std::int64_t>::min());
  return ctx.emit(c,
                  c.op(ops::slice_op, {x, c.list(last), c.list(open), c.list(axes), c.list(last)}));
}

Expected<void> convert_reverse_sequence(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId x, ctx.in(0));
  SCANLOOM_TRY(const std::int64_t batch, ctx.attributes.integer("batch_axis", 0));
  SCANLOOM_TRY(const std::int64_t time, ctx.attributes.integer("seq_axis", 1));
  SCANLOOM_TRY(ValueId lengths, ctx.in(1));
  Composer c(ctx.builder());
  lengths = is_floating_point(c.dtype(lengths)) ? c.cast(lengths, DType::i64)
                                                : c.take(indices_operand(ctx, 1));
  return ctx.emit(c, c.op(ops::reverse_sequence_op, {x, lengths},
                          {{"batch_axis", batch}, {"time_axis", time}}));
}

// Element i comes from i - shift, modulo the size. A single shift applies to all axes.
Expected<void> convert_roll(LayerCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x));
  SCANLOOM_TRY(const ValueId shifts, index_list(ctx, 1));
  SCANLOOM_TRY(const Ints axes, ctx.constant_integers(2));
  const tensor::Type& type = ctx.type(shifts);
  const std::int64_t count = type.is_static() ? type.shape().elements() : -1;
  const auto wanted = static_cast<std::int64_t>(axes.size());
  if (count < 0) return fail(Code::unsupported, "input 1 has an unknown number of shifts");
  if (wanted > tensor::kMaxRank)
    return fail(Code::unsupported, "input 2 names {} axes, more than {}", wanted, tensor::kMaxRank);
  if (count != 1 && count != wanted)
    return invalid_model("input 1 has {} shifts, but input 2 names {} axes", count, wanted);
  Composer c(ctx.builder());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = tensor::normalise_axis(axes[i], rank);
    if (!axis) return invalid_model("axis {} of input 2 is outside [-{}, {})", axes[i], rank, rank);
    const ValueId size = c.dim(x, *axis);
    const ValueId shift =
        c.gather(shifts, c.number(count == 1 ? 0 : static_cast<std::int64_t>(i)), 0);
    x = c.gather(x, c.mod(c.sub(c.count_up(size), shift), size), *axis);
  }
  return ctx.emit(c, x);
}

}  // namespace scanloom::openvino
