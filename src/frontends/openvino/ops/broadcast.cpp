#include "frontends/openvino/ops/broadcast.h"

namespace scanloom::openvino {

using ir::ValueId;

Expected<ValueId> placed_at(LayerCtx& ctx, ValueId x, int i, int rank, std::int64_t start) {
  const tensor::Type& type = ctx.type(x);
  if (!type.ranked)
    return fail(Code::unsupported, "pdpd: input {} has an unknown number of axes", i);
  const std::int64_t first = start == -1 ? rank - type.rank() : start;
  // Trailing axes of size 1 need no place.
  int axes = type.rank();
  while (axes > 0 && type.dims[static_cast<std::size_t>(axes) - 1] == tensor::Dim(1)) --axes;
  if (first < 0 || first > rank - axes)
    return invalid_model("pdpd: input {} has {} axes, which do not match {} from axis {} on", i,
                         type.rank(), rank, start);
  const int room = rank - static_cast<int>(first);
  if (room == type.rank()) return x;
  ops::Composer c(ctx.builder());
  const ValueId shaped = room > type.rank() ? c.unsqueeze(x, ops::axes_between(type.rank(), room))
                                            : c.squeeze(x, ops::axes_between(room, type.rank()));
  SCANLOOM_CHECK_OK(c.done());
  return shaped;
}

namespace {

Expected<std::string> broadcast_mode(LayerCtx& ctx) {
  return ctx.attributes.choice("auto_broadcast", "numpy", {"numpy", "none", "pdpd", "explicit"});
}

Expected<ValueId> placed(LayerCtx& ctx, ValueId whole, ValueId part, int i) {
  SCANLOOM_TRY(const std::string mode, broadcast_mode(ctx));
  if (mode == "pdpd") {
    // OpenVINO does not write the axis, and reads it as 0 if missing.
    SCANLOOM_TRY(const std::int64_t axis, ctx.attributes.integer("axis", 0));
    if (!ctx.type(whole).ranked)
      return fail(Code::unsupported, "pdpd: an operand has an unknown number of axes");
    return placed_at(ctx, part, i, ctx.type(whole).rank(), axis);
  }
  const tensor::Type &a = ctx.type(whole), &b = ctx.type(part);
  if (mode != "numpy" && a.is_static() && b.is_static() && a.shape() != b.shape())
    return invalid_model("auto_broadcast is {}, but the inputs have sizes {} and {}", mode,
                         a.shape().to_string(), b.shape().to_string());
  return part;
}

}  // namespace

Expected<Operands> broadcast_operands(LayerCtx& ctx, int first) {
  Operands operands;
  SCANLOOM_TRY(operands.a, ctx.in(first));
  SCANLOOM_TRY(operands.b, ctx.in(first + 1));
  const tensor::Type a = ctx.type(operands.a), b = ctx.type(operands.b);
  if (a.dtype != b.dtype)
    return invalid_model("inputs {} and {} are {} and {}, of different element types", first,
                         first + 1, describe_type(ctx, operands.a), describe_type(ctx, operands.b));
  SCANLOOM_TRY(operands.b, placed(ctx, operands.a, operands.b, first + 1));
  return operands;
}

Expected<ValueId> broadcast_onto(LayerCtx& ctx, ValueId whole, int i) {
  SCANLOOM_TRY(const ValueId part, ctx.in(i));
  return placed(ctx, whole, part, i);
}

}  // namespace scanloom::openvino
