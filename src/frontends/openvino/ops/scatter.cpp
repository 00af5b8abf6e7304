// ScatterElementsUpdate, ScatterNDUpdate and ScatterUpdate.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

using Ints = std::vector<std::int64_t>;

/// The operands common to all of them.
struct Scatter {
  ValueId data, indices, updates;

  static Expected<Scatter> of(LayerCtx& ctx) {
    Scatter scatter;
    SCANLOOM_TRY(scatter.data, ctx.in(0));
    SCANLOOM_TRY(scatter.indices, indices_operand(ctx, 1));
    SCANLOOM_TRY(scatter.updates, ctx.in(2));
    return scatter;
  }
};

ValueId scatter_elements(Composer& c, ValueId data, ValueId indices, ValueId updates, int axis,
                         const char* reduction) {
  return c.op(ops::scatter_elements_op, {data, indices, updates},
              {{"axis", axis}, {"reduction", reduction}});
}

/// Returns a tensor with the sizes and element type of x, filled with one number.
ValueId filled_like(Composer& c, ValueId x, double value) {
  return c.expand(c.like(value, x), c.shape(x));
}

/// Integer quotients are rounded down.
ValueId quotient(Composer& c, ValueId a, ValueId b) {
  if (dtype_kind(c.dtype(a)) != DTypeKind::signed_int) return c.div(a, b);
  return c.div(c.sub(a, c.mod(a, b)), b);
}

}  // namespace

// In updates the axes of the indices replace the axis, so the indices become tuples of one, with
// that axis moved to the front.
Expected<void> convert_scatter_update(LayerCtx& ctx) {
  SCANLOOM_TRY(const Scatter x, Scatter::of(ctx));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x.data, 1));
  SCANLOOM_TRY(const int axis, axis_operand(ctx, 3, rank));
  SCANLOOM_TRY(const int own, ctx.rank(1, x.indices));
  Composer c(ctx.builder());
  const ValueId tuples = c.unsqueeze(x.indices, {own});
  const auto scatter = [&](ValueId data, ValueId updates) {
    return c.op(ops::scatter_nd_op, {data, tuples, updates}, {{"reduction", "none"}});
  };
  if (axis == 0) return ctx.emit(c, scatter(x.data, x.updates));
  Ints front = {axis}, back = ops::axes_between(1, axis + 1),
       updates = ops::axes_between(axis, axis + own);
  back.push_back(0);
  for (int i = 0; i < rank; ++i) {
    if (i != axis) front.push_back(i);
    if (i > axis) back.push_back(i);
  }
  for (int i = 0; i < rank + own - 1; ++i)
    if (i < axis || i >= axis + own) updates.push_back(i);
  const ValueId moved = scatter(c.transpose(x.data, front), c.transpose(x.updates, updates));
  return ctx.emit(c, c.transpose(moved, back));
}

namespace {

/// With `counts_data` the original element is included in the mean.
ValueId scatter_mean(Composer& c, const Scatter& x, int axis, bool counts_data) {
  const ValueId zeros = filled_like(c, x.data, 0), ones = filled_like(c, x.updates, 1);
  const ValueId none = filled_like(c, x.updates, 0);
  const ValueId start =
      counts_data ? x.data : scatter_elements(c, x.data, x.indices, none, axis, "none");
  const ValueId sum = scatter_elements(c, start, x.indices, x.updates, axis, "add");
  const ValueId count = scatter_elements(c, counts_data ? filled_like(c, x.data, 1) : zeros,
                                         x.indices, ones, axis, "add");
  return quotient(c, sum, c.max(count, c.like(1, x.data)));
}

/// Reduces only the updates, starting from the neutral element. For min and max any of the updates
/// serves as the start.
ValueId scatter_afresh(Composer& c, const Scatter& x, int axis, const std::string& kind) {
  const bool ordered = kind == "min" || kind == "max";
  const ValueId first = ordered ? x.updates : filled_like(c, x.updates, kind == "prod" ? 1 : 0);
  const ValueId start = scatter_elements(c, x.data, x.indices, first, axis, "none");
  const char* const reduction = kind == "min"    ? "min"
                                : kind == "max"  ? "max"
                                : kind == "prod" ? "mul"
                                                 : "add";
  return scatter_elements(c, start, x.indices, x.updates, axis, reduction);
}

}  // namespace

Expected<void> convert_scatter_elements_update(LayerCtx& ctx) {
  SCANLOOM_TRY(const Scatter x, Scatter::of(ctx));
  SCANLOOM_TRY(const int rank, ctx.rank(0, x.data, 1));
  SCANLOOM_TRY(const int axis, axis_operand(ctx, 3, rank));
  Composer c(ctx.builder());
  if (ctx.version() < 12)
    return ctx.emit(c, scatter_elements(c, x.data, x.indices, x.updates, axis, "none"));
  SCANLOOM_TRY(
      const std::string kind,
      ctx.attributes.choice("reduction", "none", {"none", "sum", "prod", "min", "max", "mean"}));
  SCANLOOM_TRY(const bool uses_data, ctx.attributes.boolean("use_init_val", true));
  if (kind == "mean") return ctx.emit(c, scatter_mean(c, x, axis, uses_data));
  if (kind != "none" && !uses_data) return ctx.emit(c, scatter_afresh(c, x, axis, kind));
  const char* const reduction = kind == "sum"    ? "add"
                                : kind == "prod" ? "mul"
                                : kind == "min"  ? "min"
                                : kind == "max"  ? "max"
                                                 : "none";
  return ctx.emit(c, scatter_elements(c, x.data, x.indices, x.updates, axis, reduction));
}

Expected<void> convert_scatter_nd_update(LayerCtx& ctx) {
  SCANLOOM_TRY(const Scatter x, Scatter::of(ctx));
  std::string kind = "none";
  if (ctx.version() >= 15) {
    SCANLOOM_TRY(kind, ctx.attributes.choice("reduction", "none",
                                             {"none", "sum", "sub", "prod", "min", "max"}));
  }
  Composer c(ctx.builder());
  const ValueId updates = kind == "sub" ? c.sub(c.like(0, x.updates), x.updates) : x.updates;
  const char* const reduction = kind == "sum" || kind == "sub" ? "add"
                                : kind == "prod"               ? "mul"
                                : kind == "min"                ? "min"
                                : kind == "max"                ? "max"
                                                               : "none";
  return ctx.emit(
      c, c.op(ops::scatter_nd_op, {x.data, x.indices, updates}, {{"reduction", reduction}}));
}

}  // namespace scanloom::openvino
