// GreedySearch and Sampling of com.microsoft: one sequence per row of the batch. Source: ONNX
// Runtime's docs/ContribOperators.md and, for the order of rules and random numbers, its kernels.
#include <limits>

#include "frontends/onnx/ops/composed_loop.h"
#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/generation.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

// The values that the loop captures, in this order; those that are absent have no place.
struct CapturedRules {
  std::vector<ValueId> values;
  std::vector<ValueId TokenRules::*> members;

  void add(ValueId TokenRules::* member, ValueId value) {
    if (!value.valid()) return;
    values.push_back(value);
    members.push_back(member);
  }
  /// The rules with the arguments of the body instead of the captured values.
  [[nodiscard]] TokenRules inside(TokenRules rules, const std::vector<ValueId>& arguments) const {
    for (std::size_t i = 0; i < members.size(); ++i) rules.*members[i] = arguments[i];
    return rules;
  }
};

/// Reads the operands 2 to 5: the minimal length, a penalty and two masks.
CapturedRules read_rules(Composer& c) {
  CapturedRules rules;
  rules.add(&TokenRules::min_length, single_number(c, 2, {}));
  rules.add(&TokenRules::repetition_penalty, single_number(c, 3, {}));
  rules.add(&TokenRules::vocabulary, vocabulary_mask(c, 4, 1));
  rules.add(&TokenRules::first_vocabulary, vocabulary_mask(c, 5, 2));
  return rules;
}

/// Chooses a token from the scores, which may also change the values that the loop carries.
using Choose = std::function<ValueId(Composer&, ValueId scores, std::vector<ValueId>& carried)>;

Expected<void> search(Composer& c, const CapturedRules& rules, std::vector<ValueId> carried,
                      const Choose& choose) {
  const GenerationAttributes a = generation_attributes(c);
  const Prompt prompt = read_prompt(c, 6, a.padding, {});
  c.in(1);  // an error if it is absent
  const ValueId max_length = single_number(c, 1, {});
  SCANLOOM_CHECK_OK(c.done());
  Generation generation{.prompt = prompt,
                        .max_length = max_length,
                        .captured = rules.values,
                        .carried = std::move(carried),
                        .choose = {},
                        .finish = {}};
  // Carried first: which sequences have ended.
  const ValueId ended = c.equal(c.squeeze(prompt.next, {1}), c.scalar(-1, DType::i32));
  generation.carried.insert(generation.carried.begin(), ended);
  SCANLOOM_CHECK_OK(c.done());
  generation.choose = [=](Composer& in, const GenerationStep& step) {
    const TokenRules inside = rules.inside({.no_repeat = a.no_repeat, .end = a.end}, step.captured);
    const ValueId scores = ruled_scores(in, inside, last_logits(in, step.logits, a.vocabulary),
                                        step.sequences, step.first);
    std::vector<ValueId> next = step.carried;
    const ValueId token = in.cast(choose(in, scores, next), DType::i64);
    const ValueId over =
        in.op(ops::logical_or_op, {step.carried[0], in.equal(token, in.number(a.end))});
    next[0] = over;
    const ValueId running = in.cast(in.op(ops::logical_not_op, {over}), DType::i32);
    return GenerationChoice{
        .tokens = in.where(over, in.number(a.padding), token),
        .origin = {},
        .goes_on = in.less(in.scalar(0, DType::i32), in.reduce_all(running, "sum")),
        .carried = std::move(next),
        .stacked = {}};
  };
  generation.finish = [=](Composer& out, const std::vector<ValueId>& values) {
    return out.emit(padded_to(out, values[0], max_length, static_cast<double>(a.padding)));
  };
  return open_generation(c.ctx(), std::move(generation));
}

}  // namespace

Expected<void> convert_greedy_search(NodeCtx& ctx) {
  Composer c(ctx);
  const CapturedRules rules = read_rules(c);
  return search(c, rules, {}, [](Composer& in, ValueId scores, std::vector<ValueId>&) {
    return in.op(ops::argmax_op, {scores},
                 {{"axis", 1}, {"keepdims", 0}, {"select_last_index", 0}});
  });
}

namespace {

struct SamplingOptions {
  double top_p = 0, filter = 0;
  std::int64_t kept = 0;   // how many tokens are kept at least
  bool from_best = false;  // keeps tokens from the best down, instead of dropping the worst
};

// std::minstd_rand0, the generator of ONNX Runtime on Linux.
constexpr std::int64_t kMultiplier = 16807, kModulus = 2147483647;

/// Advances the state of the generator, a scalar.
ValueId next_random(Composer& c, ValueId state) {
  return c.mod(c.mul(state, c.number(kMultiplier)), c.number(kModulus));
}

/// Returns a number in [0, 1) as std::uniform_real_distribution<double> does, from two draws.
ValueId uniform_number(Composer& c, ValueId& state) {
  constexpr double kRange = static_cast<double>(kModulus - 1);
  const auto draw = [&] {
    state = next_random(c, state);
    return c.cast(c.sub(state, c.number(1)), DType::f64);
  };
  const ValueId low = draw(), high = draw();
  const ValueId sum = c.add(low, c.mul(high, c.scalar(kRange, DType::f64)));
  return c.div(sum, c.scalar(kRange * kRange, DType::f64));
}

/// Sets the scores outside of the nucleus of probability `top_p` to a filter value.
ValueId nucleus_scores(Composer& c, ValueId scores, const SamplingOptions& o) {
  const ValueId size = c.dim(scores, 1);
  const ir::NodeId order =
      c.take(c.builder().node(ops::topk_op, {scores, c.join({size})},
                              {{"axis", 1}, {"largest", o.from_best ? 1 : 0}, {"sorted", 1}}, 2));
  if (!c.ok()) return {};
  const std::vector<ValueId> sorted = c.builder().module().node(order).outputs;
  const ValueId soft = c.op(ops::softmax_op, {sorted[0]}, {{"axis", 1}});
  const ValueId sums =
      c.op(ops::cumsum_op, {soft, c.number(1)}, {{"exclusive", 0}, {"reverse", 0}});
  const ValueId column = c.count_up(size);
  ValueId dropped;
  if (o.from_best) {
    // A token is dropped if those before it are enough; the best is always kept.
    const ValueId before = c.sub(column, c.number(1));
    const ValueId at = c.max(before, c.number(0));
    dropped = c.both(c.less(c.like(o.top_p, sums), c.gather(sums, at, 1)),
                     c.less_equal(c.number(0), before));
  } else {
    dropped = c.both(c.less_equal(sums, c.like(1 - o.top_p, sums)),
                     c.less(column, c.sub(size, c.number(o.kept))));
  }
  const ValueId filtered = c.where(dropped, c.like(o.filter, sorted[0]), sorted[0]);
  return c.op(ops::scatter_elements_op, {scores, sorted[1], filtered},
              {{"axis", 1}, {"reduction", "none"}});
}

/// Draws a token for each row of the scores from the softmax of the scores. `state` advances by two
/// draws per row.
ValueId drawn_tokens(Composer& c, ValueId scores, ValueId& state) {
  const ValueId real = c.cast(scores, DType::f64);
  const ValueId raised = c.exp(c.sub(real, c.reduce(real, "max", {1})));
  const ValueId sums =
      c.op(ops::cumsum_op, {raised, c.number(1)}, {{"exclusive", 0}, {"reverse", 0}});
  const ComposedLoop loop{.steps = c.dim(scores, 0),
                          .captured = {},
                          .carried = {state},
                          .scanned = {{sums, 0}},
                          .stacked = {0}};
  const std::vector<ValueId> results =
      make_loop(c, loop, "draw", [](Composer& in, const ComposedLoop::Step& step) {
        ValueId next = step.carried[0];
        const ValueId most = in.reduce_all(step.scanned[0], "max");
        const ValueId at = in.mul(uniform_number(in, next), most);
        const ValueId before = in.cast(in.less_equal(step.scanned[0], at), DType::i64);
        return ComposedLoop::Yields{.carried = {next}, .stacked = {in.reduce_all(before, "sum")}};
      });
  if (!c.ok()) return {};
  state = results[0];
  return results[1];
}

}  // namespace

// The random numbers are those of ONNX Runtime where std::default_random_engine is minstd_rand0.
Expected<void> convert_sampling(NodeCtx& ctx) {
  Composer c(ctx);
  SamplingOptions o{.top_p = c.real("top_p", 0),
                    .filter = c.real("filter_value", static_cast<double>(-1e20F)),
                    .kept = c.integer("min_tokens_to_keep", 0),
                    .from_best = c.integer("custom", 0) != 0};
  if (ctx.wants(1)) return fail(Code::unsupported, "output 1, filtered logits, is not supported");
  if (c.real("presence_penalty", 0) != 0 && ctx.has(7))
    return fail(Code::unsupported, "attribute 'presence_penalty' is not supported");
  if (c.ok() && o.kept < 0) return invalid_model("attribute 'min_tokens_to_keep' is {}", o.kept);
  CapturedRules rules = read_rules(c);
  const double temperature = c.real("temperature", 1);
  if (!(temperature > 0)) return invalid_model("attribute 'temperature' is {}", temperature);
  rules.add(&TokenRules::temperature, c.scalar(temperature, DType::f32));
  // A seed of 0 stands for 1, as in the generator.
  const ValueId given = c.mod(single_number(c, 8, c.number(1)), c.number(kModulus));
  const ValueId seed = c.max(given, c.number(1));
  SCANLOOM_CHECK_OK(c.done());
  return search(c, rules, {seed}, [o](Composer& in, ValueId scores, std::vector<ValueId>& carried) {
    return drawn_tokens(in, nucleus_scores(in, scores, o), carried[1]);
  });
}

}  // namespace scanloom::onnx
