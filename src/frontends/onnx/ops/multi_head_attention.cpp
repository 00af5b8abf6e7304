// MultiHeadAttention, DecoderMaskedMultiHeadAttention and Attention of com.microsoft.
// Source: ONNX Runtime's docs/ContribOperators.md.
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/head_attention.h"
#include "frontends/onnx/ops/heads.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

/// Where an operator has its operands; -1 if it has no such operand.
struct OperandPlaces {
  int bias, mask, scores_bias, past_key, past_length, beams = -1, indirection = -1;
};

constexpr OperandPlaces kMultiHead = {
    .bias = 3, .mask = 4, .scores_bias = 5, .past_key = 6, .past_length = 8, .indirection = 9};
constexpr OperandPlaces kDecoderMasked = {.bias = 10,
                                          .mask = 3,
                                          .scores_bias = 4,
                                          .past_key = 5,
                                          .past_length = 7,
                                          .beams = 8,
                                          .indirection = 9};

/// Queries, keys and values per head: [batch, heads, positions, size].
struct Projections {
  ValueId query, key, value;
};

/// Returns the number of heads, at least 1.
std::int64_t attention_heads(Composer& c) {
  const std::int64_t heads = c.take(c.ctx().required_integer("num_heads"));
  if (c.ok() && (heads < 1 || heads > (std::int64_t{1} << 20)))
    c.refuse(invalid_model("attribute 'num_heads' is {}", heads));
  return heads;
}

void check_divides(Composer& c, int input, std::int64_t heads, std::int64_t size) {
  if (c.ok() && size >= 0 && size % heads != 0)
    c.refuse(invalid_model("attribute 'num_heads' is {}, but {} has {} columns to share", heads,
                           c.ctx().describe_input(input), size));
}

/// Adds a part of the bias to x, whose last axis has heads next to each other, and divides it into
/// heads.
ValueId biased_heads(Composer& c, int input, ValueId x, ValueId bias, ValueId first,
                     std::int64_t heads) {
  check_divides(c, input, heads, c.known_size(x, 2));
  if (!c.ok()) return {};
  if (bias.valid()) x = c.add(x, c.slice(bias, 0, first, c.add(first, c.dim(x, 2))));
  return unpack_heads(c, x, heads);
}

/// Takes one of `count` tensors that are packed on axis 3: [batch, positions, heads, count, size].
ValueId from_pack(Composer& c, ValueId packed, std::int64_t index) {
  return c.transpose(c.squeeze(c.slice(packed, 3, index, index + 1), {3}), {0, 2, 1, 3});
}

void check_pack(Composer& c, int input, ValueId packed, std::int64_t count, std::int64_t heads) {
  for (const auto& [axis, wanted] : {std::pair(2, heads), std::pair(3, count)}) {
    const std::int64_t has = c.known_size(packed, axis);
    if (c.ok() && has >= 0 && has != wanted)
      c.refuse(invalid_model("{} has {} elements on axis {}, but {} are needed",
                             c.ctx().describe_input(input), has, axis, wanted));
  }
}

/// The packed forms: [batch, positions, heads, 3, size], or, in a decoder, [batch, 1, 3 * width].
Projections unpack_all(Composer& c, ValueId query, ValueId bias, std::int64_t heads) {
  const int rank = c.rank(0, query, 3);
  if (rank == 3) {
    check_divides(c, 0, 3 * heads, c.known_size(query, 2));
    if (!c.ok()) return {};
    const ValueId width = c.div(c.dim(query, 2), c.number(3));
    const auto part = [&](std::int64_t index) {
      const ValueId first = c.mul(width, c.number(index));
      return biased_heads(c, 0, c.slice(query, 2, first, c.add(first, width)), bias, first, heads);
    };
    return {part(0), part(1), part(2)};
  }
  if (c.ok() && rank != 5)
    c.refuse(invalid_model("{} has {} axes; without keys, 5 are needed", c.ctx().describe_input(0),
                           rank));
  check_pack(c, 0, query, 3, heads);
  if (!c.ok()) return {};
  if (bias.valid()) {
    const ValueId parts = c.reshape(bias, c.join({c.number(3), c.number(heads), c.dim(query, 4)}));
    query = c.add(query, c.transpose(parts, {1, 0, 2}));
  }
  return {from_pack(c, query, 0), from_pack(c, query, 1), from_pack(c, query, 2)};
}

/// Reads the operands query, key and value in any of their forms.
Projections read_projections(Composer& c, const OperandPlaces& at, std::int64_t heads) {
  NodeCtx& ctx = c.ctx();
  const ValueId query = c.in(0), key = c.optional_in(1), value = c.optional_in(2);
  const ValueId bias = c.optional_in(at.bias);
  if (c.ok() && bias.valid()) c.rank(at.bias, bias, 1);
  if (!c.ok()) return {};
  if (!key.valid()) {
    if (value.valid()) c.refuse(invalid_model("a value is given, but no key"));
    return unpack_all(c, query, bias, heads);
  }
  const int queries = c.rank(0, query, 3), rank = c.rank(1, key, 3);
  if (c.ok() && queries != 3)
    c.refuse(
        invalid_model("{} has {} axes; with keys, 3 are needed", ctx.describe_input(0), queries));
  if (c.ok() && rank > 5)
    c.refuse(invalid_model("{} has {} axes, not 3 to 5", ctx.describe_input(1), rank));
  if (c.ok() && (rank == 5) == value.valid())
    c.refuse(invalid_model("{} has {} axes, but a value is {}", ctx.describe_input(1), rank,
                           value.valid() ? "given, too" : "missing"));
  const ValueId none = c.number(0);
  Projections p{.query = biased_heads(c, 0, query, bias, none, heads)};
  if (!c.ok()) return p;
  if (rank == 5) {
    check_pack(c, 1, key, 2, heads);
    p.key = from_pack(c, key, 0);
    p.value = from_pack(c, key, 1);
    return p;
  }
  if (const int values = c.rank(2, value, 3); c.ok() && values != rank)
    c.refuse(invalid_model("{} has {} axes, but {} has {}", ctx.describe_input(1), rank,
                           ctx.describe_input(2), values));
  // Keys with four axes are a cache, which has the bias already.
  if (rank == 4) return {p.query, key, value};
  const ValueId width = c.dim(query, 2);
  p.key = biased_heads(c, 1, key, bias, width, heads);
  p.value = biased_heads(c, 2, value, bias, c.add(width, width), heads);
  return p;
}

/// Keys and values with those of earlier steps.
struct CachedKeys {
  ValueId key, value;                  // what queries see
  ValueId present_key, present_value;  // what is returned
  ValueId past;                        // the number of earlier keys, a scalar
};

/// Appends new keys to earlier ones, or writes them into a buffer at `length`.
CachedKeys with_past(Composer& c, const Projections& p, ValueId past_key, ValueId past_value,
                     ValueId length) {
  if (!past_key.valid()) return {p.key, p.value, p.key, p.value, c.number(0)};
  if (!length.valid()) {
    const ValueId key = c.concat({past_key, p.key}, 2);
    const ValueId value = c.concat({past_value, p.value}, 2);
    return {key, value, key, value, c.dim(past_key, 2)};
  }
  const ValueId start = c.reshape(c.cast(length, DType::i64), c.list({}));
  const ValueId end = c.add(start, c.dim(p.key, 2)), none = c.number(0);
  const ValueId key = write_cache(c, past_key, p.key, start);
  const ValueId value = write_cache(c, past_value, p.value, start);
  return {c.slice(key, 2, none, end), c.slice(value, 2, none, end), key, value, start};
}

/// Picks for each beam the keys of the beams that its tokens came from: `from` is [batch, beams,
/// positions], x is [batch * beams, heads, positions, size]. The newest key is the beam's own.
ValueId keys_of_beams(Composer& c, ValueId x, ValueId from) {
  const ValueId count = c.dim(x, 2), none = c.number(0), heads = c.dim(x, 1);
  const ValueId past = c.sub(count, c.number(1)), beams = c.dim(from, 1);
  const ValueId batch = c.unsqueeze(c.mul(c.count_up(c.dim(from, 0)), beams), {1, 2});
  const ValueId beam = c.add(c.slice(c.cast(from, DType::i64), 2, none, past), batch);
  const ValueId row = c.unsqueeze(c.reshape(beam, c.join({c.dim(x, 0), past})), {1});
  const ValueId head = c.unsqueeze(c.count_up(heads), {1});
  const ValueId line = c.add(c.mul(c.add(c.mul(row, heads), head), count), c.count_up(past));
  const ValueId flat = c.reshape(x, c.join({c.mul(c.mul(c.dim(x, 0), heads), count), c.dim(x, 3)}));
  return c.concat({c.gather(flat, line, 0), c.slice(x, 2, past, count)}, 2);
}

void pick_beams(Composer& c, const OperandPlaces& at, CachedKeys& cached) {
  const ValueId from = c.optional_in(at.indirection);
  if (!from.valid()) {
    if (at.beams >= 0 && c.ctx().has(at.beams)) {
      const ValueId beams = c.reshape(c.cast(c.in(at.beams), DType::i64), c.list({}));
      c.op(ops::check_equal_op, {beams, c.number(1)},
           {{"text",
             "a beam width of {} needs input 9, the cache indirection; without it, {} is "
             "allowed"}});
    }
    return;
  }
  if (const int rank = c.rank(at.indirection, from, 3); c.ok() && rank != 3)
    c.refuse(invalid_model("{} has {} axes, not 3", c.ctx().describe_input(at.indirection), rank));
  if (!c.ok()) return;
  cached.key = keys_of_beams(c, cached.key, from);
  cached.value = keys_of_beams(c, cached.value, from);
}

void set_wanted(Composer& c, int output, ValueId value) {
  if (c.ok() && c.ctx().wants(output)) c.ctx().set_output(output, value);
}

Expected<void> convert_heads(NodeCtx& ctx, const OperandPlaces& at, bool in_buffer) {
  Composer c(ctx);
  const std::int64_t heads = attention_heads(c);
  SCANLOOM_CHECK_OK(c.done());
  const Projections p = read_projections(c, at, heads);
  const ValueId past_key = c.optional_in(at.past_key), past_value = c.optional_in(at.past_key + 1);
  if (c.ok() && past_key.valid() != past_value.valid())
    return invalid_model("only one of a past key and a past value is given");
  for (const auto& [input, past] :
       {std::pair(at.past_key, past_key), std::pair(at.past_key + 1, past_value)})
    if (c.ok() && past.valid())
      if (const int rank = c.rank(input, past, 4); c.ok() && rank != 4)
        return invalid_model("{} has {} axes, not 4", ctx.describe_input(input), rank);
  SCANLOOM_CHECK_OK(c.done());
  const ValueId length = in_buffer ? c.optional_in(at.past_length) : ValueId{};
  if (in_buffer && past_key.valid() && !length.valid())
    return invalid_model("the past key is a buffer, but input {}, its length, is missing",
                         at.past_length);
  CachedKeys cached = with_past(c, p, past_key, past_value, length);
  pick_beams(c, at, cached);
  const KeyMask mask{.input = at.mask, .query = p.query, .keys = cached.key, .past = cached.past};
  const ValueId bias = masking_terms(c, mask, at.scores_bias);
  const HeadScores scores =
      attend(c, {.query = p.query, .keys = cached.key, .values = cached.value, .bias = bias});
  set_wanted(c, 1, cached.present_key);
  set_wanted(c, 2, cached.present_value);
  set_wanted(c, 3, scores.biased);
  return c.emit(pack_heads(c, scores.y));
}

}  // namespace

// A past_sequence_length makes the past key and value buffers that are longer than what they hold.
Expected<void> convert_multi_head_attention(NodeCtx& ctx) {
  return convert_heads(ctx, kMultiHead, ctx.has(kMultiHead.past_length));
}

Expected<void> convert_decoder_masked_multi_head_attention(NodeCtx& ctx) {
  Composer c(ctx);
  ctx.ignore("output_qk");
  const bool in_buffer = c.integer("past_present_share_buffer", 0) != 0;
  if (const ValueId query = c.in(0); c.ok() && c.rank(0, query, 3) == 3 && c.ok())
    if (const std::int64_t count = c.known_size(query, 1); count >= 0 && count != 1)
      return invalid_model("{} has {} positions, but this operator decodes 1",
                           ctx.describe_input(0), count);
  SCANLOOM_CHECK_OK(c.done());
  return convert_heads(ctx, kDecoderMasked, in_buffer);
}

namespace {

/// The widths of queries and keys, and of values: attribute qkv_hidden_sizes, or thirds of the
/// projection.
struct ProjectionWidths {
  ValueId query, value;
};

ProjectionWidths projection_widths(Composer& c, ValueId weights, std::int64_t heads) {
  const auto sizes = c.take(c.ctx().integers("qkv_hidden_sizes"));
  const std::int64_t all = c.known_size(weights, 1);
  if (sizes.empty()) {
    check_divides(c, 1, 3 * heads, all);
    const ValueId third = c.div(c.dim(weights, 1), c.number(3));
    return {third, third};
  }
  if (sizes.size() != 3 || sizes[0] != sizes[1]) {
    c.refuse(invalid_model("attribute 'qkv_hidden_sizes' needs three sizes, the first two equal"));
    return {};
  }
  for (const std::int64_t size : sizes)
    if (size < 1 || size > (std::int64_t{1} << 31) || size % heads != 0)
      c.refuse(invalid_model("attribute 'qkv_hidden_sizes' has {}, which {} heads cannot share",
                             size, heads));
  if (const std::int64_t sum = sizes[0] + sizes[1] + sizes[2]; c.ok() && all >= 0 && all != sum)
    c.refuse(invalid_model("attribute 'qkv_hidden_sizes' adds up to {}, but {} has {} columns", sum,
                           c.ctx().describe_input(1), all));
  return {c.number(sizes[0]), c.number(sizes[2])};
}

Projections project(Composer& c, std::int64_t heads) {
  const ValueId x = c.in(0), weights = c.in(1), bias = c.optional_in(2);
  for (const auto& [input, value, axes] : {std::tuple(0, x, 3), std::tuple(1, weights, 2)})
    if (const int rank = c.rank(input, value, axes); c.ok() && rank != axes)
      c.refuse(invalid_model("{} has {} axes, not {}", c.ctx().describe_input(input), rank, axes));
  if (!c.ok()) return {};
  const ProjectionWidths width = projection_widths(c, weights, heads);
  ValueId all = c.contract(x, weights, "");
  if (bias.valid()) all = c.add(all, bias);
  const ValueId keys = c.add(width.query, width.query);
  const auto part = [&](ValueId first, ValueId size) {
    return c.ok() ? unpack_heads(c, c.slice(all, 2, first, c.add(first, size)), heads) : ValueId{};
  };
  return {part(c.number(0), width.query), part(width.query, width.query), part(keys, width.value)};
}

/// Takes the keys or the values of a past state [2, batch, heads, positions, size].
ValueId half_of_state(Composer& c, ValueId past, std::int64_t index) {
  return past.valid() ? c.squeeze(c.slice(past, 0, index, index + 1), {0}) : past;
}

}  // namespace

Expected<void> convert_microsoft_attention(NodeCtx& ctx) {
  Composer c(ctx);
  if (c.integer("do_rotary", 0) != 0)
    return fail(Code::unsupported,
                "attribute 'do_rotary' is not supported; apply RotaryEmbedding before");
  ctx.ignore("rotary_embedding_dim");
  const std::int64_t heads = attention_heads(c);
  SCANLOOM_CHECK_OK(c.done());
  const Projections p = project(c, heads);
  const ValueId past = c.optional_in(4);
  if (c.ok() && past.valid())
    if (const int rank = c.rank(4, past, 5); c.ok() && rank != 5)
      return invalid_model("{} has {} axes, not 5", ctx.describe_input(4), rank);
  const bool in_buffer = c.integer("past_present_share_buffer", 0) != 0;
  if (in_buffer && past.valid() && !ctx.has(6))
    return invalid_model("the past is a buffer, but input 6, its length, is missing");
  SCANLOOM_CHECK_OK(c.done());
  const ValueId length = in_buffer ? c.optional_in(6) : ValueId{};
  const CachedKeys cached =
      with_past(c, p, half_of_state(c, past, 0), half_of_state(c, past, 1), length);
  const KeyMask mask{
      .input = 3, .with_starts = true, .query = p.query, .keys = cached.key, .past = cached.past};
  const ValueId bias = masking_terms(c, mask, 5);
  const HeadScores scores =
      attend(c, {.query = p.query, .keys = cached.key, .values = cached.value, .bias = bias});
  if (ctx.wants(1))
    set_wanted(
        c, 1,
        c.concat({c.unsqueeze(cached.present_key, {0}), c.unsqueeze(cached.present_value, {0})},
                 0));
  return c.emit(pack_heads(c, scores.y));
}

}  // namespace scanloom::onnx
