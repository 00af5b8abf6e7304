#include "frontends/openvino/ops/broadcast.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// b, which is input i, with axes of one element behind, so that its first one stands under axis
/// `first` of a.
Expected<ValueId> under_axis(LayerCtx& ctx, ValueId a, ValueId b, int i, std::int64_t first) {
  const tensor::Type &whole = ctx.type(a), &part = ctx.type(b);
  if (!whole.ranked || !part.ranked)
    return fail(Code::unsupported, "auto_broadcast pdpd of an unknown number of axes");
  // -1: as far behind as it goes.
  const std::int64_t start = first == -1 ? whole.rank() - part.rank() : first;
  // Axes of one element at its end need no place.
  int axes = part.rank();
  while (axes > 0 && part.dims[static_cast<std::size_t>(axes) - 1] == tensor::Dim(1)) --axes;
  const std::int64_t behind = whole.rank() - start - part.rank();
  if (start < 0 || start + axes > whole.rank())
    return invalid_model(
        "auto_broadcast pdpd: input {} has {} axes, which do not fit into the {} of "
        "the operand it is broadcast to at axis {}",
        i, part.rank(), whole.rank(), first);
  if (behind == 0) return b;
  ops::Composer c(ctx.builder());
  const ValueId shaped =
      behind > 0
          ? c.unsqueeze(b, ops::axes_between(part.rank(), whole.rank() - static_cast<int>(start)))
          : c.squeeze(b, ops::axes_between(whole.rank() - static_cast<int>(start), part.rank()));
  SCANLOOM_CHECK_OK(c.done());
  return shaped;
}

Expected<std::string> broadcast_mode(LayerCtx& ctx) {
  return ctx.attributes.choice("auto_broadcast", "numpy", {"numpy", "none", "pdpd", "explicit"});
}

Expected<ValueId> placed(LayerCtx& ctx, ValueId whole, ValueId part, int i) {
  SCANLOOM_TRY(const std::string mode, broadcast_mode(ctx));
  if (mode == "pdpd") {
    SCANLOOM_TRY(const std::int64_t axis, ctx.attributes.integer("axis", -1));
    return under_axis(ctx, whole, part, i, axis);
  }
  const tensor::Type &a = ctx.type(whole), &b = ctx.type(part);
  if (mode == "none" && a.is_static() && b.is_static() && a.shape() != b.shape())
    return invalid_model("auto_broadcast is none, but the inputs have sizes {} and {}",
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
