// EmbeddingBag and EmbeddingSegments: sums or means of table rows.
#include "frontends/openvino/ops/converters.h"
#include "frontends/openvino/ops/operands.h"

namespace scanloom::openvino {

using ir::ValueId;
using ops::Composer;

namespace {

/// Returns the rows selected by input 1, each multiplied by its weight if input `weights` is
/// present.
ValueId weighted_rows(LayerCtx& ctx, Composer& c, ValueId table, ValueId indices, int weights) {
  const ValueId rows = c.gather(table, indices, 0);
  if (!ctx.has(weights)) return rows;
  const ValueId factors = c.take(ctx.in(weights));
  if (!c.ok()) return {};
  const int own = c.take(ctx.rank(weights, factors)), rank = c.take(ctx.rank(1, rows));
  return c.mul(rows, rank > own ? c.unsqueeze(factors, ops::axes_between(own, rank)) : factors);
}

Expected<bool> takes_mean(LayerCtx& ctx) {
  if (ctx.version() < 15) return false;
  SCANLOOM_TRY(const std::string kind, ctx.attributes.choice("reduction", "sum", {"sum", "mean"}));
  return kind == "mean";
}

Expected<ValueId> table_operand(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId table, ctx.in(0));
  SCANLOOM_CHECK_OK(ctx.rank(0, table, 1));
  return table;
}

/// Returns the sum or mean of the rows of each segment. An empty segment gets the row selected by
/// input `fallback`, or zeros if that is missing or -1.
Expected<ValueId> by_segment(LayerCtx& ctx, Composer& c, ValueId table, ValueId rows,
                             ValueId segments, ValueId count, int fallback, bool mean) {
  const DType dtype = c.dtype(table);
  const ValueId tuples = c.unsqueeze(segments, {-1});
  const auto added = [&](ValueId start, ValueId updates) {
    return c.op(ops::scatter_nd_op, {start, tuples, updates}, {{"reduction", "add"}});
  };
  const ValueId shape = c.join({count, c.shape(table, 1)});
  ValueId sums = added(c.expand(c.scalar(0, dtype), shape), rows);
  const ValueId one = c.expand(c.number(1), c.shape(segments));
  ValueId sizes = added(c.expand(c.number(0), c.join({count})), one);
  SCANLOOM_CHECK_OK(c.done());
  const int rank = ctx.type(table).rank();
  if (rank > 1) sizes = c.unsqueeze(sizes, ops::axes_between(1, rank));
  if (mean) sums = c.div(sums, c.cast(c.max(sizes, c.number(1)), dtype));
  if (!ctx.has(fallback)) return sums;
  SCANLOOM_TRY(const ValueId index, index_scalar(ctx, fallback));
  const ValueId zero = c.number(0);
  const ValueId row = c.gather(table, c.max(index, zero), 0);
  const ValueId is_named = c.both(c.equal(sizes, zero), c.less_equal(zero, index));
  return c.where(is_named, row, sums);
}

}  // namespace

// Bags of equal size, one per row of the indices.
Expected<void> convert_embedding_bag_packed(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId table, table_operand(ctx));
  SCANLOOM_TRY(const ValueId indices, indices_operand(ctx, 1));
  SCANLOOM_TRY(const bool mean, takes_mean(ctx));
  if (mean && ctx.has(2)) return invalid_model("input 2, weights, with reduction mean");
  Composer c(ctx.builder());
  const ValueId rows = weighted_rows(ctx, c, table, indices, 2);
  return ctx.emit(c, c.op(ops::reduce_op, {rows},
                          {{"kind", mean ? "mean" : "sum"},
                           {"axes", std::vector<std::int64_t>{1}},
                           {"keepdims", 0}}));
}

// Offsets give the start of each bag in the indices.
Expected<void> convert_embedding_bag_offsets(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId table, table_operand(ctx));
  SCANLOOM_TRY(const ValueId indices, indices_operand(ctx, 1));
  SCANLOOM_TRY(const ValueId offsets, index_list(ctx, 2));
  SCANLOOM_TRY(const bool mean, takes_mean(ctx));
  if (mean && ctx.has(4)) return invalid_model("input 4, weights, with reduction mean");
  Composer c(ctx.builder());
  const ValueId rows = weighted_rows(ctx, c, table, indices, 4);
  // The number of bags that start at or before each index, minus one. Empty bags at the end start
  // after the last index.
  const ValueId count = c.dim(indices, 0), bags = c.dim(offsets, 0), one = c.number(1);
  const ValueId nothing = c.expand(c.number(0), c.join({c.add(count, one)}));
  const ValueId begun =
      c.op(ops::scatter_nd_op, {nothing, c.unsqueeze(offsets, {1}), c.expand(one, c.join({bags}))},
           {{"reduction", "add"}});
  const ValueId sums =
      c.op(ops::cumsum_op, {begun, c.number(0)}, {{"exclusive", 0}, {"reverse", 0}});
  const ValueId segments = c.sub(c.slice(sums, 0, c.number(0), count), one);
  SCANLOOM_TRY(const ValueId y, by_segment(ctx, c, table, rows, segments, bags, 3, mean));
  return ctx.emit(c, y);
}

Expected<void> convert_embedding_segments(LayerCtx& ctx) {
  SCANLOOM_TRY(const ValueId table, table_operand(ctx));
  SCANLOOM_TRY(const ValueId indices, indices_operand(ctx, 1));
  SCANLOOM_TRY(const ValueId segments, indices_operand(ctx, 2));
  SCANLOOM_TRY(const ValueId count, index_scalar(ctx, 3));
  Composer c(ctx.builder());
  const ValueId rows = weighted_rows(ctx, c, table, indices, 5);
  SCANLOOM_TRY(const ValueId y, by_segment(ctx, c, table, rows, segments, count, 4, false));
  return ctx.emit(c, y);
}

}  // namespace scanloom::openvino
