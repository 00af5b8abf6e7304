#include "frontends/onnx/ops/head_attention.h"

#include <cmath>

#include "frontends/onnx/ops/heads.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Multiplies the query, the smallest operand, by the scale of the scores.
ValueId scaled_query(Composer& c, ValueId query) {
  if (const double scale = c.real("scale", 0); scale != 0)
    return c.mul(query, c.like(scale, query));
  const std::int64_t size = c.known_size(query, 3);
  if (size > 0) return c.mul(query, c.like(1 / std::sqrt(static_cast<double>(size)), query));
  const ValueId root = c.sqrt(c.cast(c.dim(query, 3), DType::f64));
  return c.mul(query, c.cast(c.div(c.scalar(1, DType::f64), root), c.dtype(query)));
}

/// Softmax in which a logit per head adds to the denominator only.
ValueId softmax_with_sink(Composer& c, ValueId scores, ValueId sink) {
  const ValueId logit = c.cast(c.unsqueeze(sink, {0, 2, 3}), c.dtype(scores));
  const ValueId most = c.max(c.reduce(scores, "max", {-1}), logit);
  const ValueId raised = c.exp(c.sub(scores, most));
  return c.div(raised, c.add(c.reduce(raised, "sum", {-1}), c.exp(c.sub(logit, most))));
}

}  // namespace

HeadScores attend(Composer& c, const HeadAttention& heads) {
  const DType own = c.dtype(heads.query), wide = at_least_f32(own);
  const ValueId query = scaled_query(c, c.cast(heads.query, wide));
  HeadScores scores;
  const ValueId raw = grouped_product(c, query, c.cast(heads.keys, wide), "...mk,...nk->...mn");
  const ValueId capped = soft_capped(c, raw, heads.softcap);
  scores.biased = heads.bias.valid() ? c.add(capped, c.cast(heads.bias, wide)) : capped;
  scores.soft = heads.sink.valid() ? softmax_with_sink(c, scores.biased, heads.sink)
                                   : c.op(ops::softmax_op, {scores.biased}, {{"axis", -1}});
  const ValueId values = c.cast(heads.values, wide);
  scores.y = c.cast(grouped_product(c, scores.soft, values, "...mk,...kn->...mn"), own);
  return scores;
}

namespace {

void check_axis(Composer& c, int input, ValueId x, int axis, std::int64_t wanted) {
  const std::int64_t has = c.known_size(x, axis);
  if (c.ok() && has >= 0 && wanted >= 0 && has != wanted)
    c.refuse(invalid_model("{} has {} elements on axis {}, but {} are needed",
                           c.ctx().describe_input(input), has, axis, wanted));
}

/// Returns whether keys lie before the ends that a list holds, and not before the starts that may
/// follow in it.
ValueId seen_by_list(Composer& c, const KeyMask& of, ValueId list) {
  const ValueId batch = c.dim(of.query, 0), keys = c.dim(of.keys, 2);
  const std::int64_t rows = c.known_size(of.query, 0), all = c.known_size(list, 0);
  const bool packed = rows >= 0 && all == 3 * rows + 2;
  if (c.ok() && rows >= 0 && all >= 0 && all != rows && !packed &&
      !(of.with_starts && all == 2 * rows))
    c.refuse(invalid_model("{} has {} elements, but the batch has {}",
                           c.ctx().describe_input(of.input), all, rows));
  const ValueId column = c.count_up(keys);
  const auto per_row = [&](ValueId x) { return c.unsqueeze(x, {1, 2, 3}); };
  const ValueId seen = c.less(column, per_row(c.slice(list, 0, c.number(0), batch)));
  if (!of.with_starts || packed || (rows >= 0 && all == rows)) return seen;
  // Only a list of twice as many numbers has starts; otherwise all keys start at 0.
  const ValueId zeros = c.op(ops::constant_of_shape_op, {c.join({batch})},
                             {{"value", tensor::Tensor::scalar<std::int64_t>(0)}});
  const ValueId twice = c.add(batch, batch);
  const ValueId after = c.slice(c.concat({list, zeros}, 0), 0, batch, twice);
  const ValueId starts = c.where(c.equal(c.dim(list, 0), twice), after, zeros);
  return c.both(seen, c.less_equal(per_row(c.min(starts, keys)), column));
}

/// Returns whether a query sees a key, broadcast to [batch, heads, queries, keys].
ValueId seen_by_mask(Composer& c, const KeyMask& of, ValueId mask) {
  const int rank = c.rank(of.input, mask, 1);
  if (c.ok() && rank > 4)
    c.refuse(invalid_model("{} has {} axes, at most 4 are allowed",
                           c.ctx().describe_input(of.input), rank));
  if (!c.ok()) return {};
  const ValueId numbers = c.cast(mask, DType::i64), none = c.number(0);
  if (rank == 1) return seen_by_list(c, of, numbers);
  check_axis(c, of.input, mask, 0, c.known_size(of.query, 0));
  if (rank < 4) check_axis(c, of.input, mask, rank - 1, c.known_size(of.keys, 2));
  if (rank == 3) check_axis(c, of.input, mask, 1, c.known_size(of.query, 2));
  if (rank < 4) {
    const Composer::Ints axes = rank == 2 ? Composer::Ints{1, 2} : Composer::Ints{1};
    return c.unsqueeze(c.less(none, numbers), axes);
  }
  const ValueId end = c.add(of.past, c.dim(of.query, 2));
  const ValueId rows = c.slice(numbers, 2, of.past, end);
  return c.less(none, c.slice(rows, 3, none, c.dim(of.keys, 2)));
}

}  // namespace

ValueId masking_terms(Composer& c, const KeyMask& of, int bias) {
  const DType wide = at_least_f32(c.dtype(of.query));
  const double filter = c.real("mask_filter_value", -10000);
  ValueId sum = c.optional_in(bias);
  if (sum.valid()) {
    c.rank(bias, sum, 2);
    sum = c.cast(sum, wide);
  }
  if (const ValueId mask = c.optional_in(of.input); mask.valid())
    sum = sum_of_present(c, sum, bias_of(c, seen_by_mask(c, of, mask), wide, filter));
  if (c.integer("unidirectional", 0) != 0 && c.known_size(of.query, 2) != 1) {
    const ValueId row = c.add(c.unsqueeze(c.count_up(c.dim(of.query, 2)), {1}), of.past);
    const ValueId seen = c.less_equal(c.count_up(c.dim(of.keys, 2)), row);
    sum = sum_of_present(c, sum, bias_of(c, seen, wide));
  }
  return sum;
}

ValueId write_cache(Composer& c, ValueId cache, ValueId added, ValueId start) {
  const ValueId none = c.number(0), end = c.add(start, c.dim(added, 2));
  const ValueId beyond = c.max(c.sub(end, c.dim(cache, 2)), none);
  c.op(ops::check_equal_op, {c.sub(beyond, c.min(start, none)), none},
       {{"text", "the new keys reach {} positions outside the cache, but {} are allowed"}});
  return c.op(ops::scatter_slice_op, {cache, added, {}, c.join({start}), c.join({end}), {}},
              {{"axes", Composer::Ints{2}}, {"picked", Composer::Ints{}}, {"reduction", "none"}});
}

}  // namespace scanloom::onnx
