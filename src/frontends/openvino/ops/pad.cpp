// Pad. Constant, edge and reflect are modes of the IR's operator; symmetric gathers by position.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

/// Mirrors x at the edges, repeating the edge elements: position -1 is element 0.
ValueId mirrored(Composer& c, ValueId x, ValueId begin, ValueId end, int axis) {
  const ValueId size = c.dim(x, axis), zero = c.number(0), one = c.number(1);
  ValueId at = c.op(ops::range_op, {c.sub(zero, begin), c.add(size, end), one});
  at = c.where(c.less(at, zero), c.sub(c.number(-1), at), at);
  const ValueId twice = c.sub(c.mul(c.number(2), size), one);
  at = c.where(c.less(at, size), at, c.sub(twice, at));
  return c.gather(x, at, axis);
}

bool is_zero(LayerCtx& ctx, int i, int axis) {
  const tensor::Tensor* const known = ctx.constant(i);
  const auto amounts = known == nullptr ? std::nullopt : tensor::to_integers(*known);
  return amounts && axis < static_cast<int>(amounts->size()) &&
         (*amounts)[static_cast<std::size_t>(axis)] == 0;
}

}  // namespace

Expected<void> convert_pad(LayerCtx& ctx) {
  SCANLOOM_TRY(ValueId x, ctx.in(0));
  SCANLOOM_TRY(const ValueId begins, index_list(ctx, 1));
  SCANLOOM_TRY(const ValueId ends, index_list(ctx, 2));
  SCANLOOM_TRY(
      const std::string mode,
      ctx.attributes.choice("pad_mode", "constant", {"constant", "edge", "reflect", "symmetric"}));
  Composer c(ctx.builder());
  if (mode == "symmetric") {
    SCANLOOM_TRY(const int rank, ctx.rank(0, x));
    for (const int i : {1, 2}) {
      SCANLOOM_TRY(const std::int64_t count, list_length(ctx, i));
      if (count != rank)
        return invalid_model("input {} has {} pads, but input 0 has {} axes", i, count, rank);
    }
    for (int axis = 0; axis < rank; ++axis)
      if (!is_zero(ctx, 1, axis) || !is_zero(ctx, 2, axis))
        x = mirrored(c, x, c.gather(begins, c.number(axis), 0), c.gather(ends, c.number(axis), 0),
                     axis);
    return ctx.emit(c, c.op(ops::identity_op, {x}));
  }
  ValueId value;
  if (ctx.has(3) && mode == "constant") {
    SCANLOOM_TRY(value, ctx.in(3));
    if (c.dtype(value) != c.dtype(x))
      return invalid_model("input 3, the value, is {}, input 0 is {}", describe_type(ctx, value),
                           describe_type(ctx, x));
  }
  return ctx.emit(c, c.op(ops::pad_op, {x, c.join({begins, ends}), value}, {{"mode", mode}}));
}

}  // namespace scanloom::openvino
