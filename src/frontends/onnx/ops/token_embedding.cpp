// Embeddings and positions of com.microsoft: EmbedLayerNormalization of BERT, RelativePositionBias
// of T5, and GatedRelativePositionBias of WavLM. Source: ONNX Runtime's docs/ContribOperators.md.
#include <cmath>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Sets output i if the model uses it.
void set_used(Composer& c, int i, ValueId value) {
  if (c.ok() && c.ctx().wants(i)) c.ctx().set_output(i, value);
}

/// The rows of the tables of words, positions and segments, added.
ValueId sum_of_embeddings(Composer& c, ValueId words) {
  const ValueId at = c.optional_in(8), segments = c.optional_in(1), table = c.optional_in(4);
  if (c.ok() && segments.valid() != table.valid())
    c.refuse(invalid_model("only one of inputs 1 and 4, segments and their table, is given"));
  const ValueId position = at.valid() ? at : c.count_up(c.dim(words, 1));
  ValueId sum = c.add(c.gather(c.in(2), words, 0), c.gather(c.in(3), position, 0));
  if (segments.valid()) sum = c.add(sum, c.gather(table, segments, 0));
  return sum;
}

}  // namespace

// Output 1 is how many entries of each row of the mask are 1, or 0 without a mask.
Expected<void> convert_embed_layer_normalization(NodeCtx& ctx) {
  Composer c(ctx);
  ctx.ignore("mask_index_type");
  const double epsilon = c.real("epsilon", static_cast<double>(1e-12f));
  const ValueId words = c.in(0);
  if (const int rank = c.rank(0, words, 2); c.ok() && rank != 2)
    return invalid_model("{} has {} axes, not 2", ctx.describe_input(0), rank);
  const ValueId sum = sum_of_embeddings(c, words);
  const DType own = c.dtype(sum), wide = at_least_f32(own);
  const ValueId x = c.cast(sum, wide), centred = c.sub(x, c.reduce(x, "mean", {-1}));
  const ValueId variance = c.reduce(c.mul(centred, centred), "mean", {-1});
  const ValueId unit = c.div(centred, c.sqrt(c.add(variance, c.like(epsilon, variance))));
  const ValueId y = c.add(c.mul(unit, c.cast(c.in(5), wide)), c.cast(c.in(6), wide));
  const ValueId mask = c.optional_in(7);
  const ValueId kept = mask.valid() ? c.cast(c.equal(mask, c.like(1, mask)), DType::i32)
                                    : c.mul(c.cast(words, DType::i32), c.scalar(0, DType::i32));
  set_used(c, 1, c.squeeze(c.reduce(kept, "sum", {1}), {1}));
  set_used(c, 2, sum);
  return c.emit(c.cast(y, own));
}

namespace {

struct DistanceBuckets {
  std::int64_t count = 0, farthest = 0;  // buckets per direction; the distance of the last one
  bool both_ways = false;
};

/// Returns the bucket of each distance from a query to a key, as T5 has them: one per distance up
/// to half of the buckets, then logarithmically up to the farthest.
ValueId bucket_of(Composer& c, ValueId distance, const DistanceBuckets& of) {
  const ValueId none = c.number(0);
  const ValueId away = of.both_ways ? c.abs(distance) : c.max(c.neg(distance), none);
  const std::int64_t exact = of.count / 2;
  const double spread = std::log(static_cast<double>(of.farthest) / static_cast<double>(exact));
  const ValueId ratio = c.div(c.cast(c.max(away, c.number(1)), DType::f32),
                              c.scalar(static_cast<double>(exact), DType::f32));
  const ValueId scaled = c.mul(c.div(c.log(ratio), c.scalar(spread, DType::f32)),
                               c.scalar(static_cast<double>(of.count - exact), DType::f32));
  const ValueId far =
      c.min(c.add(c.cast(scaled, DType::i64), c.number(exact)), c.number(of.count - 1));
  const ValueId bucket = c.where(c.less(away, c.number(exact)), away, far);
  if (!of.both_ways) return bucket;
  return c.add(bucket, c.where(c.less(none, distance), c.number(of.count), none));
}

}  // namespace

// The table is stored by columns: all buckets of a head are next to each other.
Expected<void> convert_relative_position_bias(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId table = c.in(0);
  if (const int rank = c.rank(0, table, 2); c.ok() && rank != 2)
    return invalid_model("{} has {} axes, not 2", ctx.describe_input(0), rank);
  const std::int64_t all = c.known_size(table, 0),
                     farthest = c.take(ctx.required_integer("max_distance"));
  DistanceBuckets of{.farthest = farthest, .both_ways = c.integer("is_bidirectional", 0) != 0};
  SCANLOOM_CHECK_OK(c.done());
  of.count = of.both_ways ? all / 2 : all;
  if (all < 0)
    return fail(Code::unsupported, "the number of rows of {} is not known", ctx.describe_input(0));
  if (of.count < 2 || of.farthest <= of.count / 2)
    return invalid_model(
        "{} has {} rows and attribute 'max_distance' is {}, which gives no buckets",
        ctx.describe_input(0), all, of.farthest);
  const auto positions = [&](int i) {
    return c.count_up(c.reshape(c.cast(c.in(i), DType::i64), c.list({})));
  };
  const ValueId distance = c.sub(positions(2), c.unsqueeze(positions(1), {1}));
  const ValueId by_head = c.reshape(table, c.join({c.dim(table, 1), c.dim(table, 0)}));
  return c.emit(c.unsqueeze(c.gather(by_head, bucket_of(c, distance, of), 1), {0}));
}

// The gates come from each query: sigmoid of the sums of the two halves of its projection.
Expected<void> convert_gated_relative_position_bias(NodeCtx& ctx) {
  Composer c(ctx);
  if (ctx.has(6))
    return fail(Code::unsupported, "{}, for tokens packed without padding, is not supported",
                ctx.describe_input(6));
  const std::int64_t heads = c.take(ctx.required_integer("num_heads"));
  const ValueId query = c.in(0), weight = c.in(3);
  if (const int rank = c.rank(0, query, 3); c.ok() && rank != 3)
    return invalid_model("{} has {} axes, not 3", ctx.describe_input(0), rank);
  c.rank(3, weight, 2);
  const std::int64_t width = c.known_size(query, 2);
  if (c.ok() && (heads < 1 || (width >= 0 && width % heads != 0)))
    return invalid_model("attribute 'num_heads' is {}, but {} has {} columns to share", heads,
                         ctx.describe_input(0), width);
  SCANLOOM_CHECK_OK(c.done());
  const ValueId count = c.number(heads), two = c.number(2);
  const ValueId x = c.add(query, c.in(1));
  const ValueId per_head =
      c.reshape(x, c.join({c.shape(x, 0, 2), count, c.div(c.dim(x, 2), count)}));
  const ValueId y = c.add(c.contract(c.transpose(per_head, {0, 2, 1, 3}), weight, ""), c.in(4));
  const ValueId parts = c.reshape(y, c.join({c.shape(y, 0, 3), two, c.div(c.dim(y, 3), two)}));
  const ValueId gates = c.op(ops::sigmoid_op, {c.squeeze(c.reduce(parts, "sum", {-1}), {-1})});
  const ValueId update = c.slice(gates, 3, 0, 1), reset = c.slice(gates, 3, 1, 2);
  const ValueId gate =
      c.add(c.mul(update, c.sub(c.mul(reset, c.in(5)), c.like(1, update))), c.like(2, update));
  return c.emit(c.mul(gate, c.in(2)));
}

}  // namespace scanloom::onnx
