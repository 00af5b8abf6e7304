// LinearAttention (27), a loop over positions whose state is one matrix per head, and
// CausalConvWithState (27).
#include <cmath>

#include "frontends/onnx/ops/composed_loop.h"
#include "frontends/onnx/ops/converters.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

struct LinearRule {
  bool gated = false, delta = false;
};

Expected<LinearRule> linear_rule(NodeCtx& ctx) {
  SCANLOOM_TRY(const std::string rule, ctx.text("update_rule", "gated_delta"));
  const LinearRule result{.gated = rule == "gated" || rule == "gated_delta",
                          .delta = rule == "delta" || rule == "gated_delta"};
  if (!result.gated && !result.delta && rule != "linear")
    return invalid_model("attribute 'update_rule' is '{}', not linear, gated, delta or gated_delta",
                         rule);
  const std::pair<int, bool> gates[] = {{4, result.gated}, {5, result.delta}};
  for (const auto& [input, needed] : gates)
    if (ctx.has(input) != needed)
      return invalid_model("the rule '{}' {} input {}", rule, needed ? "needs" : "has no", input);
  return result;
}

struct LinearInputs {
  // [batch, positions, heads of keys, ...]; queries [..., queries per key, size]
  ValueId query, key, value, decay, beta;
  ValueId state;  // [batch, heads of keys, size of keys, size of values]
};

/// Reshapes [batch, positions, parts * rest] to [batch, positions, parts..., rest], in f32.
ValueId unpack(Composer& c, ValueId x, std::initializer_list<std::int64_t> parts) {
  std::int64_t count = 1;
  std::vector<std::int64_t> sizes;
  for (const std::int64_t part : parts) {
    count *= part;
    sizes.push_back(part);
  }
  const ValueId rest = c.div(c.dim(x, 2), c.number(count));
  return c.reshape(c.cast(x, DType::f32), c.join({c.shape(x, 0, 2), c.list(sizes), rest}));
}

ValueId zero_state(Composer& c, ValueId key, ValueId value) {
  const ValueId shape = c.join({c.dim(key, 0), c.dim(key, 2), c.dim(key, 3), c.dim(value, 3)});
  return c.expand(c.scalar(0, DType::f32), shape);
}

LinearInputs linear_inputs(Composer& c, const LinearRule& rule, std::int64_t heads,
                           std::int64_t shared) {
  LinearInputs in;
  for (int i = 0; i < 3; ++i)
    if (const int rank = c.rank(i, c.in(i), 3); c.ok() && rank != 3)
      c.refuse(invalid_model("{} has {} axes, not 3", c.ctx().describe_input(i), rank));
  in.query = unpack(c, c.in(0), {shared, heads / shared});
  in.key = unpack(c, c.in(1), {shared});
  in.value = unpack(c, c.in(2), {shared});
  if (rule.gated) in.decay = unpack(c, c.in(4), {shared});
  if (rule.delta) in.beta = c.unsqueeze(c.cast(c.in(5), DType::f32), {3});
  const ValueId past = c.optional_in(3);
  in.state = past.valid() ? c.cast(past, DType::f32) : zero_state(c, in.key, in.value);
  return in;
}

/// Computes one position. Returns the next state and what the queries read from it.
std::pair<ValueId, ValueId> linear_step(Composer& c, const LinearInputs& at) {
  ValueId state = at.state, written = at.value;
  if (at.decay.valid()) state = c.mul(state, c.unsqueeze(c.exp(at.decay), {3}));
  if (at.beta.valid())
    written = c.mul(at.beta, c.sub(written, c.contract(state, at.key, "bhkv,bhk->bhv")));
  state = c.add(state, c.mul(c.unsqueeze(at.key, {3}), c.unsqueeze(written, {2})));
  return {state, c.contract(at.query, state, "bhgk,bhkv->bhgv")};
}

/// Loops over axis 1 of all inputs. Returns the last state, and the rows stacked along axis 1.
std::pair<ValueId, ValueId> linear_loop(Composer& c, const LinearInputs& in) {
  using Member = ValueId LinearInputs::*;
  ComposedLoop loop{.steps = c.dim(in.key, 1), .carried = {in.state}, .stacked = {1}};
  std::vector<Member> members;
  for (const Member member : {&LinearInputs::query, &LinearInputs::key, &LinearInputs::value,
                              &LinearInputs::decay, &LinearInputs::beta}) {
    if (!(in.*member).valid()) continue;
    loop.scanned.push_back({in.*member, 1});
    members.push_back(member);
  }
  const auto body = [&](Composer& inside, const ComposedLoop::Step& step) {
    LinearInputs at;
    at.state = step.carried[0];
    for (std::size_t i = 0; i < members.size(); ++i) at.*members[i] = step.scanned[i];
    const auto [next, row] = linear_step(inside, at);
    return ComposedLoop::Yields{.carried = {next}, .stacked = {row}};
  };
  const std::vector<ValueId> results = make_loop(c, loop, "linear_attention", body);
  return c.ok() ? std::pair{results[0], results[1]} : std::pair<ValueId, ValueId>();
}

ValueId linear_scale(Composer& c, ValueId query) {
  if (const double scale = c.real("scale", 0); scale != 0) return c.scalar(scale, DType::f32);
  const ValueId size = c.cast(c.dim(query, 4), DType::f64);
  return c.cast(c.div(c.scalar(1, DType::f64), c.sqrt(size)), DType::f32);
}

}  // namespace

// Computed in f32. Consecutive groups of query heads share one key head.
Expected<void> convert_linear_attention(NodeCtx& ctx) {
  ctx.ignore("chunk_size");
  SCANLOOM_TRY(const LinearRule rule, linear_rule(ctx));
  SCANLOOM_TRY(const std::int64_t heads, ctx.required_integer("q_num_heads"));
  SCANLOOM_TRY(const std::int64_t shared, ctx.required_integer("kv_num_heads"));
  if (shared < 1 || heads < 1 || heads % shared != 0)
    return invalid_model("{} heads of queries cannot share {} heads of keys", heads, shared);
  Composer c(ctx);
  const LinearInputs in = linear_inputs(c, rule, heads, shared);
  const ValueId past = c.optional_in(3), query = c.in(0);
  const auto [state, rows] = linear_loop(c, in);
  const ValueId scaled = c.mul(rows, linear_scale(c, in.query));
  const ValueId width = c.mul(c.dim(in.value, 3), c.number(heads));
  const ValueId packed = c.reshape(scaled, c.join({c.shape(query, 0, 2), width}));
  const ValueId present = c.cast(state, c.dtype(past.valid() ? past : query));
  if (c.ok()) ctx.set_output(1, present);
  return c.emit(c.cast(packed, c.dtype(query)));
}

// Convolves each channel over the past state followed by the input. The new state is the end of
// that concatenation.
Expected<void> convert_causal_conv_with_state(NodeCtx& ctx) {
  Composer c(ctx);
  const ValueId x = c.in(0), weight = c.in(1), bias = c.optional_in(2), past = c.optional_in(3);
  const std::string activation = c.text("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return invalid_model("attribute 'activation' is '{}', not none, silu or swish", activation);
  const std::int64_t channels = c.known_size(weight, 0);
  SCANLOOM_CHECK_OK(c.done());
  if (channels < 1)
    return fail(Code::unsupported,
                "the number of channels of {} is not known when the model is read",
                ctx.describe_input(1));
  const ValueId kept = c.sub(c.dim(weight, 2), c.number(1));
  const ValueId before =
      past.valid() ? past : c.expand(c.like(0, x), c.join({c.shape(x, 0, 2), kept}));
  const ValueId all = c.concat({before, x}, 2);
  ValueId y =
      c.op(ops::conv_op, {all, weight, bias}, {{"auto_pad", "explicit"}, {"group", channels}});
  if (activation != "none") {
    const ValueId wide = c.cast(y, DType::f32);
    y = c.cast(c.mul(wide, c.op(ops::sigmoid_op, {wide})), c.dtype(x));
  }
  const ValueId present = c.slice(all, 2, c.dim(x, 2), c.dim(all, 2));
  if (c.ok()) ctx.set_output(1, present);
  return c.emit(y);
}

}  // namespace scanloom::onnx
