#include "frontends/onnx/old_broadcast.h"

#include <algorithm>

#include "ops/ops.h"

namespace scanloom::onnx {

using ir::ValueId;
using tensor::Dim;
using tensor::Type;

Expected<void> check_same_sizes(NodeCtx& ctx, ValueId a, ValueId b, std::string_view b_words) {
  // In other regions the node may never run.
  if (ctx.builder().region() != ctx.module().top()) return {};
  const Type &first = ctx.type(a), &second = ctx.type(b);
  if (!first.ranked || !second.ranked) return {};
  if (first.rank() != second.rank())
    return invalid_model(
        "{} has {} axes, but the first one has {}; this version does not broadcast", b_words,
        second.rank(), first.rank());
  for (std::size_t axis = 0; axis < first.dims.size(); ++axis) {
    const Dim one = first.dims[axis], other = second.dims[axis];
    if (one.is_constant() && other.is_constant() && one != other)
      return invalid_model(
          "{} has size {} on axis {}, but the first one has {}; this version does not broadcast",
          b_words, other.value(), axis, one.value());
  }
  return {};
}

Expected<ValueId> old_broadcast(NodeCtx& ctx, ValueId a, ValueId b) {
  SCANLOOM_TRY(const std::int64_t broadcast, ctx.integer("broadcast", 0));
  const bool has_axis = ctx.has_attribute("axis");
  if (broadcast == 0) {
    SCANLOOM_CHECK_OK(check_same_sizes(ctx, a, b, ctx.describe_input(1)));
    return b;
  }
  if (!has_axis) return b;
  SCANLOOM_TRY(const std::int64_t given, ctx.integer("axis", 0));
  const Type &whole = ctx.type(a), &part = ctx.type(b);
  const auto is_one = [](Dim size) { return size == Dim(1); };
  if (part.ranked && std::ranges::all_of(part.dims, is_one)) return b;
  if (!whole.ranked || !part.ranked)
    return fail(Code::unsupported, "attribute 'axis' with an unknown number of axes");
  const auto axis = tensor::normalise_axis(given, whole.rank());
  if (!axis || *axis + part.rank() > whole.rank())
    return invalid_model(
        "attribute 'axis' is {}, but from there on {} does not have the {} axes of {}", given,
        ctx.describe_input(0), part.rank(), whole.rank());
  std::vector<std::int64_t> after;
  for (int next = part.rank(); *axis + next < whole.rank(); ++next) after.push_back(next);
  if (after.empty()) return b;
  return ctx.op(ops::unsqueeze_op, {b}, {{"axes", std::move(after)}});
}

}  // namespace scanloom::onnx
