// GroupQueryAttention and SparseAttention of com.microsoft: causal attention over a cache, in which
// each row of the batch has its own number of keys. Source: ONNX Runtime's
// docs/ContribOperators.md.
#include <array>

#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/head_attention.h"
#include "frontends/onnx/ops/heads.h"
#include "frontends/onnx/ops/rotary.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

constexpr int kPastKey = 3;
constexpr int kPastValue = 4;

/// Numbers of positions, as i64.
struct CacheLengths {
  ValueId past;   // of each row of the batch, before the new ones: [batch]
  ValueId total;  // of each row, with the new ones: [batch]
  ValueId most;   // the largest of these, a scalar
  ValueId added;  // how many are new, a scalar
};

/// [batch, positions, heads, size].
struct GroupedHeads {
  ValueId query, key, value;
};

struct GroupCounts {
  std::int64_t query = 0, key = 0;
};

GroupCounts group_counts(Composer& c) {
  const GroupCounts counts{c.take(c.ctx().required_integer("num_heads")),
                           c.take(c.ctx().required_integer("kv_num_heads"))};
  constexpr std::int64_t kMaxHeads = std::int64_t{1} << 20;
  if (c.ok() && (counts.key < 1 || counts.query < 1 || counts.query > kMaxHeads ||
                 counts.query % counts.key != 0))
    c.refuse(
        invalid_model("attribute 'num_heads' is {}, which is no multiple of 'kv_num_heads', {}",
                      counts.query, counts.key));
  return counts;
}

void check_columns(Composer& c, int input, ValueId x, std::int64_t heads) {
  const int rank = c.rank(input, x, 3);
  const std::int64_t size = c.known_size(x, 2);
  if (c.ok() && rank != 3)
    c.refuse(invalid_model("{} has {} axes, not 3", c.ctx().describe_input(input), rank));
  if (c.ok() && size >= 0 && size % heads != 0)
    c.refuse(invalid_model("{} has {} columns, which {} heads cannot share",
                           c.ctx().describe_input(input), size, heads));
}

/// Reads query, key and value, or the three packed next to each other into the query.
GroupedHeads read_groups(Composer& c, const GroupCounts& counts) {
  const ValueId query = c.in(0), key = c.optional_in(1), value = c.optional_in(2);
  if (c.ok() && key.valid() != value.valid())
    c.refuse(invalid_model("only one of inputs 1 and 2, key and value, is given"));
  const std::int64_t all = counts.query + 2 * counts.key;
  check_columns(c, 0, query, key.valid() ? counts.query : all);
  if (key.valid()) {
    check_columns(c, 1, key, counts.key);
    check_columns(c, 2, value, counts.key);
  }
  if (!c.ok()) return {};
  if (key.valid())
    return {divide_heads(c, query, counts.query), divide_heads(c, key, counts.key),
            divide_heads(c, value, counts.key)};
  const ValueId packed = divide_heads(c, query, all);
  const std::int64_t keys = counts.query + counts.key;
  return {c.slice(packed, 2, 0, counts.query), c.slice(packed, 2, counts.query, keys),
          c.slice(packed, 2, keys, all)};
}

/// `ends` is the total length of each row of the batch, less `offset`; input `most` the largest. At
/// a prompt all positions are new.
CacheLengths cache_lengths(Composer& c, ValueId query, int ends, std::int64_t offset, int most) {
  CacheLengths lengths;
  const ValueId given = c.in(ends), largest = c.in(most);
  if (!c.ok()) return lengths;
  const ValueId batch = c.dim(query, 0);
  lengths.added = c.dim(query, 1);
  lengths.total = c.add(c.reshape(c.cast(given, DType::i64), c.join({batch})), c.number(offset));
  lengths.most = c.reshape(c.cast(largest, DType::i64), c.list({}));
  const ValueId prompt = c.equal(lengths.most, lengths.added);
  lengths.past = c.where(prompt, c.number(0), c.sub(lengths.total, lengths.added));
  // A hostile length would otherwise pick rows of another head.
  c.op(
      ops::check_equal_op,
      {c.min(c.op(ops::reduce_op, {lengths.past}, {{"kind", "min"}, {"keepdims", 0}}), c.number(0)),
       c.number(0)},
      {{"text", "{} positions come before the new ones, but at least {} are needed"}});
  return lengths;
}

/// Positions of the new tokens: [batch, new].
ValueId new_positions(Composer& c, const CacheLengths& lengths) {
  return c.add(c.unsqueeze(lengths.past, {1}), c.count_up(lengths.added));
}

void rotate_groups(Composer& c, GroupedHeads& heads, const CacheLengths& lengths, int tables,
                   int given_positions) {
  if (c.integer("do_rotary", 0) == 0) {
    c.ctx().ignore("rotary_interleaved");
    return;
  }
  const bool interleaved = c.integer("rotary_interleaved", 0) != 0;
  const ValueId cosines = c.in(tables), sines = c.in(tables + 1);
  c.rank(tables, cosines, 2);
  c.rank(tables + 1, sines, 2);
  const ValueId given = given_positions < 0 ? ValueId{} : c.optional_in(given_positions);
  if (given.valid()) c.rank(given_positions, given, 2);
  if (!c.ok()) return;
  const ValueId at = given.valid() ? given : new_positions(c, lengths);
  const Rotation by = rotation_at(c, cosines, sines, at);
  // Tables that are narrower than half of a head rotate only its first elements.
  const std::int64_t half = c.known_size(cosines, 1), size = c.known_size(heads.query, 3);
  ValueId turned;
  if (half < 0 || size != 2 * half) turned = c.mul(c.dim(cosines, 1), c.number(2));
  heads.query = rotate_first(c, heads.query, by, interleaved, turned);
  heads.key = rotate_first(c, heads.key, by, interleaved, turned);
}

/// Returns [batch, heads, capacity, size]: the earlier rows of each row of the batch, then the new
/// ones, then zeros. All are gathered at once from the rows of the cache, the new rows and a zero.
ValueId present_rows(Composer& c, ValueId past, ValueId added, const CacheLengths& lengths,
                     ValueId capacity) {
  const ValueId one = c.number(1), size = c.dim(added, 3), heads = c.dim(added, 1);
  const ValueId lines = c.mul(c.dim(added, 0), heads);  // of [batch, heads]
  const auto flat = [&](ValueId x) {
    return c.reshape(x, c.join({c.mul(lines, c.dim(x, 2)), c.dim(x, 3)}));
  };
  const ValueId zero = c.op(ops::constant_of_shape_op, {c.join({one, size})},
                            {{"value", tensor::Tensor::scalar<float>(0)}});
  std::vector<ValueId> parts;
  if (past.valid()) parts.push_back(flat(past));
  parts.push_back(flat(added));
  parts.push_back(c.cast(zero, c.dtype(added)));
  const ValueId column = c.count_up(capacity);
  const ValueId line =
      c.unsqueeze(c.reshape(c.count_up(lines), c.join({c.dim(added, 0), heads})), {2});
  const ValueId before = c.unsqueeze(lengths.past, {1, 2});
  const ValueId held = past.valid() ? c.dim(past, 2) : c.number(0);
  const ValueId first_new = c.mul(lines, held);
  const ValueId last = c.add(first_new, c.mul(lines, lengths.added));
  const ValueId offset = c.sub(column, before);  // of a new row
  const ValueId index_of_new = c.add(c.add(c.mul(line, lengths.added), offset), first_new);
  ValueId index = c.where(c.less(offset, lengths.added), index_of_new, last);
  if (past.valid())
    index = c.where(c.less(column, before), c.add(c.mul(line, held), column), index);
  return c.gather(c.concat(std::move(parts), 0), index, 0);
}

struct PresentCache {
  ValueId key, value;
};

/// Returns the cache with the new rows. Its capacity is that of the past, or the largest length.
PresentCache present_cache(Composer& c, const GroupedHeads& heads, const CacheLengths& lengths) {
  const ValueId past_key = c.optional_in(kPastKey), past_value = c.optional_in(kPastValue);
  if (c.ok() && past_key.valid() != past_value.valid())
    c.refuse(invalid_model("only one of inputs 3 and 4, past key and past value, is given"));
  ValueId capacity = lengths.most;
  for (const auto& [input, past] : {std::pair(kPastKey, past_key), {kPastValue, past_value}}) {
    if (!c.ok() || !past.valid()) continue;
    if (const int rank = c.rank(input, past, 4); c.ok() && rank != 4)
      c.refuse(invalid_model("{} has {} axes, not 4", c.ctx().describe_input(input), rank));
    const std::int64_t has = c.known_size(past, 1), wanted = c.known_size(heads.key, 2);
    if (c.ok() && has >= 0 && wanted >= 0 && has != wanted)
      c.refuse(invalid_model("{} has {} heads, but attribute 'kv_num_heads' is {}",
                             c.ctx().describe_input(input), has, wanted));
  }
  if (!c.ok()) return {};
  if (past_key.valid()) capacity = c.max(capacity, c.dim(past_key, 2));
  const ValueId key = c.transpose(heads.key, {0, 2, 1, 3});
  const ValueId value = c.transpose(heads.value, {0, 2, 1, 3});
  if (past_key.valid()) {
    const ValueId most = c.reduce_all(lengths.past, "max"), held = c.dim(past_key, 2);
    c.op(ops::check_equal_op, {c.max(most, held), held},
         {{"text", "{} earlier positions are needed, but the past has {}"}});
  }
  return {present_rows(c, past_key, key, lengths, capacity),
          present_rows(c, past_value, value, lengths, capacity)};
}

/// Returns which keys, [batch, 1, new, keys], a query sees.
ValueId seen_keys(Composer& c, const CacheLengths& lengths, ValueId keys) {
  const ValueId column = c.count_up(keys);
  const std::int64_t window = c.integer("local_window_size", -1);
  if (c.integer("causal", 1) == 0) {
    if (window > 0)
      c.refuse(invalid_model("attribute 'local_window_size' is {}, but must be -1 without 'causal'",
                             window));
    return c.less(column, c.unsqueeze(lengths.total, {1, 2, 3}));
  }
  const ValueId row = c.unsqueeze(new_positions(c, lengths), {1, 3});
  const ValueId seen = c.less_equal(column, row);
  if (window <= 0) return seen;
  return c.both(seen, c.less(c.sub(row, c.number(window)), column));
}

/// Root mean square normalization of each head, as Qwen3 has it.
ValueId normalised_heads(Composer& c, ValueId x, int input, double epsilon) {
  const ValueId weight = c.optional_in(input);
  if (!weight.valid()) return x;
  const DType wide = at_least_f32(c.dtype(x));
  const ValueId real = c.cast(x, wide);
  const ValueId square = c.reduce(c.mul(real, real), "mean", {-1});
  const ValueId unit = c.div(real, c.sqrt(c.add(square, c.like(epsilon, square))));
  return c.cast(c.mul(unit, c.cast(weight, wide)), c.dtype(x));
}

void refuse_other_caches(Composer& c) {
  NodeCtx& ctx = c.ctx();
  if (c.integer("sliding_window_cache", 0) != 0)
    c.refuse(fail(Code::unsupported, "attribute 'sliding_window_cache' is not supported"));
  for (const char* const name : {"k_quant_type", "v_quant_type"})
    if (const std::string type = c.text(name, "NONE"); c.ok() && type != "NONE")
      c.refuse(fail(Code::unsupported, "attribute '{}' is {}: quantized caches are not supported",
                    name, type));
  ctx.ignore("kv_cache_bit_width");
  if (c.ok() && (ctx.has(12) || ctx.has(13)))
    c.refuse(fail(Code::unsupported, "quantized caches (inputs 12 and 13) are not supported"));
}

/// Computes attention over the first `lengths.most` rows of the cache.
HeadScores attend_to_cache(Composer& c, ValueId query, const PresentCache& present,
                           const CacheLengths& lengths, ValueId bias, ValueId sink) {
  const ValueId none = c.number(0);
  return attend(c, {.query = c.transpose(query, {0, 2, 1, 3}),
                    .keys = c.slice(present.key, 2, none, lengths.most),
                    .values = c.slice(present.value, 2, none, lengths.most),
                    .bias = bias,
                    .sink = sink,
                    .softcap = c.real("softcap", 0)});
}

Expected<void> emit_present(Composer& c, const PresentCache& present, const HeadScores& scores) {
  const ValueId shown[] = {present.key, present.value};
  for (int i = 0; i < 2; ++i)
    if (c.ok() && c.ctx().wants(i + 1)) c.ctx().set_output(i + 1, shown[i]);
  return c.emit(pack_heads(c, scores.y));
}

}  // namespace

Expected<void> convert_group_query_attention(NodeCtx& ctx) {
  Composer c(ctx);
  const GroupCounts counts = group_counts(c);
  refuse_other_caches(c);
  SCANLOOM_CHECK_OK(c.done());
  GroupedHeads heads = read_groups(c, counts);
  SCANLOOM_CHECK_OK(c.done());
  const double epsilon = c.real("qk_norm_epsilon", 1e-6);
  if (ctx.has(14) != ctx.has(15))
    return invalid_model("only one of inputs 14 and 15, the weights of norms, is given");
  heads.query = normalised_heads(c, heads.query, 14, epsilon);
  heads.key = normalised_heads(c, heads.key, 15, epsilon);
  const CacheLengths lengths = cache_lengths(c, heads.query, 5, 1, 6);
  rotate_groups(c, heads, lengths, 7, 9);
  const PresentCache present = present_cache(c, heads, lengths);
  const DType wide = at_least_f32(c.dtype(heads.query));
  ValueId bias = bias_of(c, seen_keys(c, lengths, lengths.most), wide);
  if (const ValueId given = c.optional_in(10); given.valid()) {
    c.rank(10, given, 4);
    bias = c.add(c.cast(given, wide), bias);
  }
  ValueId sink = c.optional_in(11);
  if (!sink.valid() && c.integer("smooth_softmax", -1) == 1)
    sink = c.op(ops::constant_of_shape_op, {c.list({counts.query})},
                {{"value", tensor::Tensor::scalar<float>(0)}});
  const HeadScores scores = attend_to_cache(c, heads.query, present, lengths, bias, sink);
  const std::int64_t shown = c.integer("qk_output", 0);
  if (shown < 0 || shown > 2)
    return invalid_model("attribute 'qk_output' is {}, not 0 to 2", shown);
  if (c.ok() && shown > 0 && ctx.wants(3))
    ctx.set_output(3, c.cast(shown == 1 ? scores.biased : scores.soft, c.dtype(heads.query)));
  return emit_present(c, present, scores);
}

namespace {

/// Returns whether a query sees the block of a key, [batch, heads, new, keys]: the blocks of each
/// layout are listed in compressed sparse rows, and the heads use the layouts in turn.
ValueId seen_blocks(Composer& c, const CacheLengths& lengths, std::int64_t heads,
                    std::int64_t block) {
  const ValueId rows = c.in(5), columns = c.in(6), size = c.number(block);
  for (const auto& [input, list] : {std::pair(5, rows), {6, columns}})
    if (const int rank = c.rank(input, list, 2); c.ok() && rank != 2)
      c.refuse(invalid_model("{} has {} axes, not 2", c.ctx().describe_input(input), rank));
  if (!c.ok()) return {};
  const ValueId row = c.div(new_positions(c, lengths), size);    // [batch, new]
  const ValueId column = c.div(c.count_up(lengths.most), size);  // [keys]
  const ValueId starts = c.cast(rows, DType::i64), listed = c.cast(columns, DType::i64);
  const ValueId first = c.unsqueeze(c.gather(starts, row, 1), {3, 4});  // [layouts, batch,
  const ValueId last = c.unsqueeze(c.gather(starts, c.add(row, c.number(1)), 1), {3, 4});  // new]
  const ValueId entry = c.count_up(c.dim(listed, 1));
  const ValueId own = c.both(c.less_equal(first, entry), c.less(entry, last));
  const ValueId match = c.equal(c.unsqueeze(listed, {1, 2, 3}), c.unsqueeze(column, {1}));
  const ValueId hits = c.cast(c.both(own, match), DType::i32);
  const ValueId found =
      c.squeeze(c.reduce(hits, "max", {-1}), {-1});  // [layouts, batch, new, keys]
  const ValueId layout = c.mod(c.count_up(c.number(heads)), c.dim(listed, 0));
  return c.less(c.scalar(0, DType::i32), c.transpose(c.gather(found, layout, 0), {1, 0, 2, 3}));
}

}  // namespace

Expected<void> convert_sparse_attention(NodeCtx& ctx) {
  Composer c(ctx);
  const GroupCounts counts = group_counts(c);
  const std::int64_t block = c.take(ctx.required_integer("sparse_block_size"));
  SCANLOOM_CHECK_OK(c.done());
  if (block < 1 || block > (std::int64_t{1} << 20))
    return invalid_model("attribute 'sparse_block_size' is {}", block);
  GroupedHeads heads = read_groups(c, counts);
  SCANLOOM_CHECK_OK(c.done());
  const CacheLengths lengths = cache_lengths(c, heads.query, 8, 0, 7);
  rotate_groups(c, heads, lengths, 9, -1);
  const PresentCache present = present_cache(c, heads, lengths);
  const ValueId blocks = seen_blocks(c, lengths, counts.query, block);
  SCANLOOM_CHECK_OK(c.done());
  const ValueId seen = c.both(seen_keys(c, lengths, lengths.most), blocks);
  const DType wide = at_least_f32(c.dtype(heads.query));
  const HeadScores scores =
      attend_to_cache(c, heads.query, present, lengths, bias_of(c, seen, wide), {});
  return emit_present(c, present, scores);
}

}  // namespace scanloom::onnx
