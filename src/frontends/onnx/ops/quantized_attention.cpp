// QAttention and QEmbedLayerNormalization: the first layers of a transformer whose weights are
// bytes. Source: ONNX Runtime's docs/ContribOperators.md and its kernels.
#include <limits>

#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/heads.h"
#include "frontends/onnx/ops/linear_quantization.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

enum QAttentionInput : int {
  kTokens,
  kProjection,
  kProjectionBias,
  kTokensScale,
  kProjectionScale,
  kMask,
  kTokensZero,
  kProjectionZero,
  kPast,
};

constexpr std::int64_t kMaxHeads = std::int64_t{1} << 32;

/// Queries, keys and values: [batch, heads, positions, size].
struct Heads {
  ValueId q, k, v;
};

Heads projected_heads(Composer& c, std::int64_t heads) {
  const ByteMatrix tokens = byte_matrix(c, kTokens, kTokensZero, false);
  const ByteMatrix weights = byte_matrix(c, kProjection, kProjectionZero, true);
  const ValueId scale = c.mul(scalar_input(c, kTokensScale), c.in(kProjectionScale));
  const ValueId all = scaled_byte_sums(c, tokens, weights, scale, c.in(kProjectionBias));
  const ValueId hidden = c.div(c.dim(all, 2), c.number(3));
  const auto part = [&](std::int64_t i) {
    const ValueId x = c.slice(all, 2, c.mul(hidden, c.number(i)), c.mul(hidden, c.number(i + 1)));
    return unpack_heads(c, x, heads);
  };
  return {part(0), part(1), part(2)};
}

/// Puts the keys and values of the past, [2, batch, heads, positions, size], first.
void prepend_past(Composer& c, Heads& heads) {
  const ValueId past = c.in(kPast);
  heads.k = c.concat({c.gather(past, c.number(0), 0), heads.k}, 2);
  heads.v = c.concat({c.gather(past, c.number(1), 0), heads.v}, 2);
}

/// Whether keys are masked, to broadcast against [batch, heads, queries, keys]; invalid if none is.
/// By the axes of the mask: [batch] and [2 batch] hold the ends, and then the starts, of the keys
/// that count; [batch, keys] and [batch, queries, keys] are 0 where one does not.
ValueId masked_keys(Composer& c, ValueId batch, ValueId keys) {
  if (!c.ctx().has(kMask)) return {};
  const ValueId mask = c.cast(c.in(kMask), DType::i64), none = c.number(0);
  const int rank = c.rank(kMask, mask, 1);
  if (rank == 1) {
    const ValueId padded = c.concat({mask, c.expand(none, c.join({batch}))}, 0);
    const auto column = [&](std::int64_t i) {
      const ValueId first = c.mul(batch, c.number(i));
      return c.unsqueeze(c.slice(padded, 0, first, c.add(first, batch)), {1, 2, 3});
    };
    const ValueId position = c.count_up(keys);
    return c.op(ops::logical_or_op,
                {c.less_equal(column(0), position), c.less(position, column(1))});
  }
  // Exporters write [batch, 1] for no mask.
  if (rank == 2 && c.known_size(mask, 1) == 1) return {};
  if (rank > 3)
    c.refuse(fail(Code::unsupported, "{} has {} axes, but at most 3 are supported",
                  c.ctx().describe_input(kMask), rank));
  return c.less_equal(rank == 2 ? c.unsqueeze(mask, {1, 2}) : c.unsqueeze(mask, {1}), none);
}

}  // namespace

Expected<void> convert_qattention(NodeCtx& ctx) {
  Composer c(ctx);
  const std::int64_t count = c.take(ctx.required_integer("num_heads"));
  const bool causal = c.integer("unidirectional", 0) != 0;
  const double filter = c.real("mask_filter_value", -10000.0);
  for (const char* const name : {"do_rotary", "past_present_share_buffer"})
    if (c.integer(name, 0) != 0)
      return fail(Code::unsupported, "attribute '{}' is set, which is not supported", name);
  if (c.ok() && c.rank(kTokens, c.in(kTokens), 3) != 3)
    return invalid_model("{} does not have 3 axes", ctx.describe_input(kTokens));
  const std::int64_t width = c.known_size(c.in(kProjection), 1);
  if (c.ok() && (count < 1 || count > kMaxHeads || (width >= 0 && width % (3 * count) != 0)))
    return invalid_model("attribute 'num_heads' is {}, but the weights have {} columns", count,
                         width);
  Heads heads = projected_heads(c, count);
  if (ctx.has(kPast)) prepend_past(c, heads);
  const ValueId root = root_of_scale(c, heads.q);
  ValueId scores = c.contract(c.mul(heads.q, root), c.mul(heads.k, root), "bhqd,bhkd->bhqk");
  const ValueId queries = c.dim(heads.q, 2), keys = c.dim(heads.k, 2);
  const ValueId none = c.like(0, scores);
  if (const ValueId masked = masked_keys(c, c.dim(heads.q, 0), keys); masked.valid())
    scores = c.add(scores, c.where(masked, c.like(filter, scores), none));
  if (causal) {
    const ValueId last = c.add(c.count_up(queries), c.sub(keys, queries));
    const ValueId later = c.less(c.unsqueeze(last, {1}), c.count_up(keys));
    const double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
    scores = c.where(later, c.like(lowest, scores), scores);
  }
  const ValueId shares = c.op(ops::softmax_op, {scores}, {{"axis", -1}});
  if (ctx.wants(1)) {
    const ValueId present = c.concat({c.unsqueeze(heads.k, {0}), c.unsqueeze(heads.v, {0})}, 0);
    if (c.ok()) ctx.set_output(1, present);
  }
  return c.emit(pack_heads(c, c.contract(shares, heads.v, "bhqk,bhkd->bhqd")));
}

namespace {

/// Rows `ids` of table input i, whose scale and zero point are inputs i_scale and i_zero.
ValueId embedded(Composer& c, int table, ValueId ids, int scale, int zero) {
  const DType dtype = byte_type(c, table);
  const ValueId rows = ids.valid() ? c.gather(c.in(table), ids, 0) : c.in(table);
  return dequantized(c, rows, quantization_input(c, scale, zero, dtype));
}

}  // namespace

// The sum of the embeddings of words, positions and segments, normalized; output 1 counts the ones
// of each row of the mask, which is 0 without a mask.
Expected<void> convert_qembed_layer_normalization(NodeCtx& ctx) {
  Composer c(ctx);
  const double epsilon = c.real("epsilon", static_cast<double>(1e-12f));
  const ValueId ids = c.in(0);
  if (c.ok() && c.rank(0, ids, 2) != 2)
    return invalid_model("{} does not have 2 axes", ctx.describe_input(0));
  const ValueId positions = c.count_up(c.dim(ids, 1));
  ValueId sum = c.add(embedded(c, 2, ids, 8, 13), embedded(c, 3, positions, 9, 14));
  if (ctx.has(1)) sum = c.add(sum, embedded(c, 4, c.in(1), 10, 15));
  const ValueId centred = c.sub(sum, c.reduce(sum, "mean", {-1}));
  const ValueId variance = c.reduce(c.mul(centred, centred), "mean", {-1});
  const ValueId normal = c.div(centred, c.sqrt(c.add(variance, c.like(epsilon, variance))));
  const ValueId gamma = embedded(c, 5, {}, 11, 16), beta = embedded(c, 6, {}, 12, 17);
  if (ctx.wants(1)) {
    ValueId counts = c.expand(c.scalar(0, DType::i32), c.join({c.dim(ids, 0)}));
    if (ctx.has(7)) {
      const ValueId mask = c.in(7);
      counts = c.op(ops::reduce_op, {c.cast(c.equal(mask, c.like(1, mask)), DType::i32)},
                    {{"kind", "sum"}, {"axes", Composer::Ints{1}}, {"keepdims", 0}});
    }
    if (c.ok()) ctx.set_output(1, counts);
  }
  return c.emit(c.add(c.mul(normal, gamma), beta));
}

}  // namespace scanloom::onnx
