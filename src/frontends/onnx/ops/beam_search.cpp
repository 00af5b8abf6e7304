// BeamSearch of com.microsoft, for decoders. Source: ONNX Runtime's docs/ContribOperators.md; the
// order in which hypotheses are kept is that of its scorer.
#include <limits>

#include "frontends/onnx/ops/converters.h"
#include "frontends/onnx/ops/generation.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

constexpr double kNoScore = -std::numeric_limits<double>::infinity();

/// The operands of the search, first of the node's region, then as captured by the loop.
struct BeamOperands {
  ValueId beams, max_length, length_penalty;                             // scalars
  ValueId min_length, repetition_penalty, vocabulary, first_vocabulary;  // may be invalid
};

std::vector<ValueId*> members_of(BeamOperands& operands) {
  return {&operands.beams,           &operands.max_length,         &operands.length_penalty,
          &operands.min_length,      &operands.repetition_penalty, &operands.vocabulary,
          &operands.first_vocabulary};
}

/// What the loop carries, in this order.
struct BeamState {
  ValueId scores;       // [batch * beams]: sums of logarithms of probabilities
  ValueId kept_scores;  // [batch, beams]: of the finished hypotheses, minus infinity if none
  ValueId kept_tokens;  // [batch, beams, max_length]
  ValueId done;         // [batch]
};

/// The best continuations of each row of the batch: [batch, 2 * beams].
struct Candidates {
  ValueId scores, beam, token;
};

ValueId to_rows(Composer& c, ValueId x, ValueId columns) {
  return c.reshape(x, c.join({c.div(c.op(ops::size_op, {x}), columns), columns}));
}

/// The topk node's two results.
std::pair<ValueId, ValueId> greatest(Composer& c, ValueId x, ValueId count) {
  const ir::NodeId node = c.take(c.builder().node(ops::topk_op, {x, c.join({count})},
                                                  {{"axis", 1}, {"largest", 1}, {"sorted", 1}}, 2));
  if (!c.ok()) return {};
  const std::vector<ValueId>& outputs = c.builder().module().node(node).outputs;
  return {outputs[0], outputs[1]};
}

Candidates best_candidates(Composer& c, ValueId totals, ValueId beams) {
  const ValueId vocabulary = c.dim(totals, 1);
  const ValueId rows = to_rows(c, totals, c.mul(beams, vocabulary));
  const auto [scores, at] = greatest(c, rows, c.add(beams, beams));
  return {scores, c.div(at, vocabulary), c.mod(at, vocabulary)};
}

/// Divides sums of logarithms by a power of the length, a scalar.
ValueId by_length(Composer& c, ValueId scores, ValueId length, ValueId penalty) {
  return c.div(scores, c.pow(c.cast(length, DType::f32), penalty));
}

/// Adds hypotheses to those kept: [batch, beams] scores, of which minus infinity stands for none,
/// and [batch, beams, length] tokens.
void keep_best(Composer& c, BeamState& state, ValueId scores, ValueId tokens, ValueId beams,
               ValueId max_length, std::int64_t padding) {
  const ValueId padded = padded_to(c, tokens, max_length, static_cast<double>(padding));
  const ValueId all = c.concat({state.kept_scores, scores}, 1);
  const auto [best, at] = greatest(c, all, beams);
  const ValueId both = c.concat({state.kept_tokens, padded}, 1);
  const ValueId index = c.expand(c.unsqueeze(at, {2}), c.join({c.shape(at), max_length}));
  state.kept_scores = best;
  state.kept_tokens = c.op(ops::gather_elements_op, {both, index}, {{"axis", 1}});
}

struct BeamRules {
  GenerationAttributes attributes;
  bool early_stopping = false, with_scores = false;
};

/// Picks a number of columns of each row, [rows, count], by the indices.
ValueId picked_columns(Composer& c, ValueId x, ValueId at) {
  return c.op(ops::gather_elements_op, {x, at}, {{"axis", 1}});
}

/// Keeps the candidates that end among the first `beams`, as hypotheses without the end.
void keep_ended(Composer& c, BeamState& state, const BeamOperands& in, const BeamRules& rules,
                const Candidates& best, ValueId is_end, ValueId sequences) {
  const ValueId none = c.number(0);
  const auto first = [&](ValueId x) { return c.slice(x, 1, none, in.beams); };
  const ValueId length = c.dim(sequences, 1), batch = c.dim(best.scores, 0);
  const ValueId open = c.unsqueeze(c.op(ops::logical_not_op, {state.done}), {1});
  const ValueId scores = c.where(c.both(open, first(is_end)),
                                 by_length(c, first(best.scores), length, in.length_penalty),
                                 c.like(kNoScore, best.scores));
  const ValueId row = c.add(first(best.beam), c.unsqueeze(c.mul(c.count_up(batch), in.beams), {1}));
  const ValueId tokens = c.gather(sequences, row, 0);  // [batch, beams, length]
  keep_best(c, state, scores, tokens, in.beams, in.max_length, rules.attributes.padding);
}

/// Updates which rows of the batch are done: they have enough hypotheses, and no open one can
/// become better.
void update_done(Composer& c, BeamState& state, const BeamOperands& in, const BeamRules& rules,
                 ValueId best_scores, ValueId length) {
  const ValueId worst = c.squeeze(c.reduce(state.kept_scores, "min", {1}), {1});
  const ValueId full = c.less(c.like(kNoScore, worst), worst);
  ValueId over = full;
  if (!rules.early_stopping) {
    const ValueId best = c.squeeze(c.reduce(best_scores, "max", {1}), {1});
    over = c.both(full, c.less_equal(by_length(c, best, length, in.length_penalty), worst));
  }
  state.done = c.op(ops::logical_or_op, {state.done, over});
}

/// The continuation of each beam: [batch, beams].
struct NextBeams {
  ValueId scores, token, row;
};

/// The first candidates that do not end, in their order. Rows that are done are padded.
NextBeams next_beams(Composer& c, const Candidates& best, ValueId is_end, ValueId done,
                     const BeamOperands& in, std::int64_t padding) {
  const ValueId count = c.dim(best.scores, 1), column = c.count_up(count);
  // The greatest of these keys are the earliest of those that go on.
  const ValueId key = c.sub(c.where(is_end, c.number(0), count), column);
  const ValueId at = greatest(c, key, in.beams).second;
  const ValueId batch = c.unsqueeze(c.mul(c.count_up(c.dim(best.scores, 0)), in.beams), {1});
  const ValueId over = c.unsqueeze(done, {1});
  const ValueId zero = c.number(0), scores = picked_columns(c, best.scores, at);
  return {c.where(over, c.like(0, scores), scores),
          c.where(over, c.number(padding), picked_columns(c, best.token, at)),
          c.where(over, zero, c.add(picked_columns(c, best.beam, at), batch))};
}

GenerationChoice beam_step(Composer& c, const BeamOperands& in, const BeamRules& rules,
                           const GenerationStep& step) {
  const GenerationAttributes& a = rules.attributes;
  BeamState state{step.carried[0], step.carried[1], step.carried[2], step.carried[3]};
  const ValueId logits = last_logits(c, step.logits, a.vocabulary);
  const ValueId soft = c.op(ops::log_softmax_op, {logits}, {{"axis", -1}});
  const TokenRules limits{.repetition_penalty = in.repetition_penalty,
                          .vocabulary = in.vocabulary,
                          .first_vocabulary = in.first_vocabulary,
                          .min_length = in.min_length,
                          .temperature = {},
                          .no_repeat = a.no_repeat,
                          .end = a.end};
  const ValueId ruled = ruled_scores(c, limits, soft, step.sequences, step.first);
  const ValueId totals = c.add(ruled, c.unsqueeze(state.scores, {1}));
  const Candidates best = best_candidates(c, totals, in.beams);
  const ValueId is_end = c.equal(best.token, c.number(a.end)), before = state.done;
  keep_ended(c, state, in, rules, best, is_end, step.sequences);
  const NextBeams next = next_beams(c, best, is_end, before, in, a.padding);
  update_done(c, state, in, rules, best.scores, c.dim(step.sequences, 1));
  const ValueId all = c.join({c.dim(step.sequences, 0)});
  const ValueId open = c.cast(c.op(ops::logical_not_op, {state.done}), DType::i32);
  GenerationChoice choice{
      .tokens = c.reshape(next.token, all),
      .origin = c.reshape(next.row, all),
      .goes_on = c.less(c.scalar(0, DType::i32), c.reduce_all(open, "sum")),
      .carried = {c.reshape(next.scores, all), state.kept_scores, state.kept_tokens, state.done},
      .stacked = {}};
  if (rules.with_scores) {
    const ValueId shape = c.join({c.dim(best.scores, 0), in.beams, c.dim(totals, 1)});
    choice.stacked.push_back(c.reshape(totals, shape));
  }
  return choice;
}

/// The state before the first step: only the first beam of each row counts.
std::vector<ValueId> first_beams(Composer& c, const BeamOperands& in, std::int64_t padding) {
  const ValueId batch = c.dim(c.in(0), 0), shape = c.join({batch, in.beams});
  const ValueId beam = c.expand(c.count_up(in.beams), shape);
  const ValueId scores = c.where(c.equal(beam, c.number(0)), c.scalar(0, DType::f32),
                                 c.scalar(static_cast<double>(-1e9F), DType::f32));
  const ValueId tokens = c.expand(c.scalar(static_cast<double>(padding), DType::i32),
                                  c.join({batch, in.beams, in.max_length}));
  const ValueId done = c.less(c.count_up(batch), c.number(0));
  return {c.reshape(scores, c.join({c.mul(batch, in.beams)})),
          c.expand(c.scalar(kNoScore, DType::f32), shape), tokens, done};
}

/// Sets the outputs. Hypotheses that are still open compete with those that ended.
Expected<void> emit_hypotheses(Composer& c, const BeamOperands& in, const BeamRules& rules,
                               const std::vector<ValueId>& values) {
  const ValueId sequences = values[0], returned = single_number(c, 4, c.number(1));
  BeamState state{values[1], values[2], values[3], values[4]};
  const ValueId length = c.dim(sequences, 1), batch = c.dim(state.done, 0);
  const ValueId scores =
      to_rows(c, by_length(c, state.scores, length, in.length_penalty), in.beams);
  const ValueId open = c.where(c.unsqueeze(state.done, {1}), c.like(kNoScore, scores), scores);
  const ValueId tokens = c.reshape(sequences, c.join({batch, in.beams, length}));
  keep_best(c, state, open, tokens, in.beams, in.max_length, rules.attributes.padding);
  const ValueId none = c.number(0);
  if (c.ok() && c.ctx().wants(1))
    c.ctx().set_output(1, c.slice(state.kept_scores, 1, none, returned));
  if (rules.with_scores) {
    // Steps that did not run have scores of 0.
    const ValueId rows = values[5], steps = c.sub(in.max_length, c.dim(c.in(0), 1));
    const ValueId rest = c.join({c.sub(steps, c.dim(rows, 0)), c.shape(rows, 1, 4)});
    const ValueId all = c.concat({rows, c.expand(c.like(0, rows), rest)}, 0);
    if (c.ok()) c.ctx().set_output(2, all);
  }
  return c.emit(c.slice(state.kept_tokens, 1, none, returned));
}

}  // namespace

Expected<void> convert_beam_search(NodeCtx& ctx) {
  Composer c(ctx);
  BeamRules rules{.attributes = generation_attributes(c),
                  .early_stopping = c.integer("early_stopping", 0) != 0,
                  .with_scores = ctx.wants(2)};
  for (const int unused : {10, 11})
    if (ctx.has(unused))
      return fail(Code::unsupported, "{} is only for models with an encoder",
                  ctx.describe_input(unused));
  c.in(1);  // an error if it is absent
  BeamOperands operands{.beams = single_number(c, 3, c.number(1)),
                        .max_length = single_number(c, 1, {}),
                        .length_penalty = single_number(c, 5, c.scalar(1, DType::f32)),
                        .min_length = single_number(c, 2, {}),
                        .repetition_penalty = single_number(c, 6, {}),
                        .vocabulary = vocabulary_mask(c, 7, 1),
                        .first_vocabulary = vocabulary_mask(c, 8, 2)};
  const Prompt prompt = read_prompt(c, 9, rules.attributes.padding, operands.beams);
  SCANLOOM_CHECK_OK(c.done());
  const ValueId returned = single_number(c, 4, c.number(1));
  c.op(ops::check_equal_op, {c.max(returned, operands.beams), operands.beams},
       {{"text", "{} sequences are to be returned, but there are {} beams"}});
  Generation generation{.prompt = prompt,
                        .max_length = operands.max_length,
                        .captured = {},
                        .carried = first_beams(c, operands, rules.attributes.padding),
                        .choose = {},
                        .finish = {}};
  SCANLOOM_CHECK_OK(c.done());
  std::vector<bool> present;
  for (ValueId* const value : members_of(operands)) {
    present.push_back(value->valid());
    if (value->valid()) generation.captured.push_back(*value);
  }
  generation.choose = [=](Composer& in, const GenerationStep& step) {
    BeamOperands inside;
    std::size_t next = 0;
    const std::vector<ValueId*> members = members_of(inside);
    for (std::size_t i = 0; i < members.size(); ++i)
      if (present[i]) *members[i] = step.captured[next++];
    return beam_step(in, inside, rules, step);
  };
  generation.finish = [=](Composer& out, const std::vector<ValueId>& values) {
    return emit_hypotheses(out, operands, rules, values);
  };
  return open_generation(ctx, std::move(generation));
}

}  // namespace scanloom::onnx
