#include "frontends/openvino/ops/broadcast.h"

namespace scanloom::openvino {

using ir::ValueId;

namespace {

/// b with axes of one element behind, so that its first one stands under axis `first` of a.
Expected<ValueId> under_axis(LayerCtx& ctx, ValueId a, ValueId b, std::int64_t first) {
  const tensor::Type &whole = ctx.type(a), &part = ctx.type(b);
  if (!whole.ranked || !part.ranked)
    return fail(Code::unsupported, "auto_broadcast pdpd of an unknown number of axes");
  // -1: as far behind as it goes.
  const std::int64_t start = first == -1 ? whole.rank() - part.rank() : first;
  const std::int64_t behind = whole.rank() - start - part.rank();
  if (start < 0 || behind < 0)
    return invalid_model(
        "auto_broadcast pdpd: input 1 has {} axes, which do not fit into the {} of "
        "input 0 at axis {}",
        part.rank(), whole.rank(), first);
  if (behind == 0) return b;
  ops::Composer c(ctx.builder());
  const ValueId shaped =
      c.unsqueeze(b, ops::axes_between(part.rank(), whole.rank() - static_cast<int>(start)));
  SCANLOOM_CHECK_OK(c.done());
  return shaped;
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
  SCANLOOM_TRY(
      const std::string mode,
      ctx.attributes.choice("auto_broadcast", "numpy", {"numpy", "none", "pdpd", "explicit"}));
  if (mode == "pdpd") {
    SCANLOOM_TRY(const std::int64_t axis, ctx.attributes.integer("axis", -1));
    SCANLOOM_TRY(operands.b, under_axis(ctx, operands.a, operands.b, axis));
  }
  if (mode == "none" && a.is_static() && b.is_static() && a.shape() != b.shape())
    return invalid_model("auto_broadcast is none, but the inputs have sizes {} and {}",
                         a.shape().to_string(), b.shape().to_string());
  return operands;
}

}  // namespace scanloom::openvino
