// Attention (23, 24, 25): softmax(Q K^T) V with heads, groups of heads that share keys and values,
// caches, masks and windows. Also TensorScatter, which updates caches.
#include "frontends/onnx/ops/composer.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/heads.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

struct AttentionInputs {
  ValueId query, key, value;  // [batch, heads, positions, size of a head]
  ValueId mask, past_key, past_value, valid_keys;
  bool packed = false;  // heads are packed into the last of three axes
};

AttentionInputs attention_inputs(Composer& c) {
  AttentionInputs inputs{.query = c.in(0),
                         .key = c.in(1),
                         .value = c.in(2),
                         .mask = c.optional_in(3),
                         .past_key = c.optional_in(4),
                         .past_value = c.optional_in(5),
                         .valid_keys = c.optional_in(6)};
  const int rank = c.rank(0, inputs.query, 3);
  if (c.ok() && rank > 4)
    c.refuse(invalid_model("{} has {} axes, not 3 or 4", c.ctx().describe_input(0), rank));
  if (inputs.past_key.valid() != inputs.past_value.valid())
    c.refuse(invalid_model("only one of inputs 4 and 5, past key and past value, is given"));
  if (inputs.past_key.valid() && inputs.valid_keys.valid())
    c.refuse(invalid_model("input 6 cannot be combined with a past key"));
  inputs.packed = rank == 3;
  if (!inputs.packed) {
    for (const char* name : {"q_num_heads", "kv_num_heads"}) c.ctx().ignore(name);
    return inputs;
  }
  inputs.query = unpack_heads(c, inputs.query, heads_of(c, "q_num_heads", 0, inputs.query));
  const std::int64_t shared = heads_of(c, "kv_num_heads", 1, inputs.key);
  inputs.value = unpack_heads(c, inputs.value, heads_of(c, "kv_num_heads", 2, inputs.value));
  inputs.key = unpack_heads(c, inputs.key, shared);
  return inputs;
}

/// Row and column of the score matrix. A row is the position of its query among the keys.
struct Positions {
  ValueId row, column;  // broadcast to [batch, heads, rows, columns]
};

Positions positions_of(Composer& c, const AttentionInputs& in, ValueId keys) {
  const ValueId rows = c.dim(in.query, 2);
  Positions at{c.unsqueeze(c.count_up(rows), {1}), c.count_up(c.dim(keys, 2))};
  if (in.past_key.valid()) at.row = c.add(at.row, c.dim(in.past_key, 2));
  if (in.valid_keys.valid())
    at.row = c.add(at.row, c.unsqueeze(c.sub(in.valid_keys, rows), {1, 2, 3}));
  return at;
}

/// Returns the mask as a term to add to the scores. It may have fewer columns than there are keys;
/// in version 23 a single column is broadcast.
ValueId mask_bias(Composer& c, ValueId mask, ValueId keys, DType dtype) {
  const ValueId bias =
      c.dtype(mask) == DType::boolean ? bias_of(c, mask, dtype) : c.cast(mask, dtype);
  const std::int64_t all = c.known_size(keys, 2);
  const int last = c.rank(3, mask, 1) - 1;
  if (all >= 0 && c.known_size(mask, last) == all) return bias;
  const ValueId columns = c.dim(mask, -1);
  ValueId missing = c.sub(c.dim(keys, 2), columns);
  if (c.ctx().version() < 24)
    missing = c.where(c.equal(columns, c.number(1)), c.number(0), missing);
  return c.op(ops::pad_op,
              {bias, c.join({c.number(0), c.max(missing, c.number(0))}),
               c.scalar(kNegativeInfinity, dtype), c.list({-1})},
              {{"mode", "constant"}});
}

/// Returns the sum of all terms to add to the scores; invalid if there are none.
ValueId attention_bias(Composer& c, const AttentionInputs& in, ValueId keys) {
  const DType dtype = c.dtype(in.query);
  const bool causal = c.integer("is_causal", 0) != 0;
  const std::int64_t left = c.integer("left_window_size", -1);
  const std::int64_t right = c.integer("right_window_size", -1);
  if (left < -1 || right < -1)
    c.refuse(invalid_model("the windows are {} and {}, but at least -1 is needed", left, right));
  ValueId bias;
  const auto limit = [&](ValueId part) { bias = bias.valid() ? c.add(bias, part) : part; };
  if (in.mask.valid()) limit(mask_bias(c, in.mask, keys, dtype));
  if (causal || left >= 0 || right >= 0) {
    const Positions at = positions_of(c, in, keys);
    if (causal) limit(bias_of(c, c.less_equal(at.column, at.row), dtype));
    if (left >= 0) limit(bias_of(c, c.less_equal(c.sub(at.row, at.column), c.number(left)), dtype));
    if (right >= 0)
      limit(bias_of(c, c.less_equal(c.sub(at.column, at.row), c.number(right)), dtype));
  }
  if (in.valid_keys.valid()) {
    const ValueId column = c.count_up(c.dim(keys, 2));
    limit(bias_of(c, c.less(column, c.unsqueeze(in.valid_keys, {1, 2, 3})), dtype));
  }
  return bias;
}

/// Computes softmax in the type given by softmax_precision. Rows without any key are 0.
ValueId probabilities(Composer& c, ValueId scores, ValueId bias) {
  const DType dtype = c.dtype(scores);
  const DType precision = c.dtype_attribute("softmax_precision", dtype);
  if (!is_floating_point(precision))
    c.refuse(invalid_model("attribute 'softmax_precision' is {}", dtype_onnx_name(precision)));
  const ValueId soft =
      c.cast(c.op(ops::softmax_op, {c.cast(scores, precision)}, {{"axis", -1}}), dtype);
  if (!bias.valid()) return soft;
  const ValueId most = c.reduce(bias, "max", {-1});
  return c.where(c.equal(most, c.scalar(kNegativeInfinity, dtype)), c.scalar(0, dtype), soft);
}

}  // namespace

Expected<void> convert_attention(NodeCtx& ctx) {
  Composer c(ctx);
  const AttentionInputs in = attention_inputs(c);
  ValueId keys = in.key, values = in.value;
  if (in.past_key.valid()) {
    keys = c.concat({in.past_key, keys}, 2);
    values = c.concat({in.past_value, values}, 2);
  }
  const ValueId bias = attention_bias(c, in, keys);
  const ValueId scale = root_of_scale(c, in.query);
  const ValueId raw =
      grouped_product(c, c.mul(in.query, scale), c.mul(keys, scale), "...mk,...nk->...mn");
  const ValueId capped = soft_capped(c, raw, c.real("softcap", 0));
  const ValueId biased = bias.valid() ? c.add(capped, bias) : capped;
  const ValueId soft = probabilities(c, biased, bias);
  // Values may have a different type from queries.
  const DType wide = c.dtype(values) == DType::f64 ? DType::f64 : c.dtype(soft);
  ValueId y = grouped_product(c, c.cast(soft, wide), c.cast(values, wide), "...mk,...kn->...mn");
  y = c.cast(in.packed ? pack_heads(c, y) : y, c.dtype(in.query));
  const std::int64_t mode = c.integer("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3)
    return invalid_model("attribute 'qk_matmul_output_mode' is {}, not 0 to 3", mode);
  const ValueId shown[] = {raw, capped, biased, soft};
  SCANLOOM_CHECK_OK(c.done());
  ctx.set_output(1, keys);
  ctx.set_output(2, values);
  ctx.set_output(3, shown[mode]);
  return c.emit(y);
}

namespace {

/// Makes the run fail if an update that does not wrap around leaves the cache.
void check_reach(Composer& c, ValueId starts, ValueId written, ValueId size) {
  const ValueId zero = c.list({0});
  const ValueId all = starts.valid() ? c.concat({starts, zero}, 0) : zero;
  const ValueId end = c.add(c.reduce_all(all, "max"), written);
  const ValueId beyond = c.max(c.sub(end, size), c.number(0));
  const ValueId outside = c.sub(beyond, c.reduce_all(all, "min"));
  c.op(ops::check_equal_op, {outside, c.number(0)},
       {{"text", "the update reaches {} elements outside the cache, but {} are allowed"}});
}

}  // namespace

// Elements reached by the update come from it; the others are kept.
Expected<void> convert_tensor_scatter(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId cache = c.in(0), update = c.in(1), starts = c.optional_in(2);
  const int rank = c.rank(0, cache, 2), axis = c.axis("axis", -2, rank);
  const std::string mode = c.text("mode", "linear");
  if (axis == 0) return invalid_model("attribute 'axis' is 0, the axis of the batch");
  if (mode != "linear" && mode != "circular")
    return invalid_model("attribute 'mode' is '{}', neither linear nor circular", mode);
  const ValueId size = c.dim(cache, axis), written = c.dim(update, axis);
  // Positions, shaped to broadcast against the cache, are turned into indices into the update.
  ValueId source = c.count_up(size);
  if (axis < rank - 1) source = c.unsqueeze(source, axes_between(1, rank - axis));
  if (starts.valid()) source = c.sub(source, c.unsqueeze(starts, axes_between(1, rank)));
  if (mode == "circular")
    source = c.mod(source, size);
  else
    check_reach(c, starts, written, size);
  const ValueId reached = c.both(c.less_equal(c.number(0), source), c.less(source, written));
  const ValueId safe = c.expand(c.where(reached, source, c.number(0)), c.shape(cache));
  // Where the update does not reach, the gathered element is discarded, but one must exist.
  const bool some = c.known_size(update, axis) > 0;
  const ValueId from = some ? update : c.concat({update, c.slice(cache, axis, 0, 1)}, axis);
  const ValueId moved = c.op(ops::gather_elements_op, {from, safe}, {{"axis", axis}});
  return c.emit(c.where(reached, moved, cache));
}

}  // namespace scanloom::onnx
