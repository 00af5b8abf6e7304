#include "frontends/onnx/ops/token_scores.h"

#include <limits>

#include "frontends/onnx/ops/repeated_ngrams.h"

namespace scanloom::onnx {

using ir::ValueId;

namespace {

// What ONNX Runtime gives to tokens that are not allowed.
constexpr double kLowestScore = std::numeric_limits<float>::lowest();

/// Makes tokens that occur already less likely.
ValueId penalised(Composer& c, ValueId scores, ValueId sequences, ValueId penalty) {
  const ValueId seen = c.op(ops::gather_elements_op, {scores, sequences}, {{"axis", 1}});
  const ValueId by = c.cast(penalty, c.dtype(scores));
  const ValueId lower = c.where(c.less(seen, c.like(0, seen)), c.mul(seen, by), c.div(seen, by));
  return c.op(ops::scatter_elements_op, {scores, sequences, lower},
              {{"axis", 1}, {"reduction", "none"}});
}

ValueId forbidden(Composer& c, ValueId where, ValueId scores) {
  return c.where(where, c.like(kLowestScore, scores), scores);
}

}  // namespace

ValueId repeat_rows(Composer& c, ValueId x, ValueId times) {
  if (!c.ok()) return {};
  const int rank = c.ctx().module().value(x).type.rank();
  const ValueId rest = c.shape(x, 1, rank), rows = c.dim(x, 0);
  const ValueId wide = c.expand(c.unsqueeze(x, {1}), c.join({rows, times, rest}));
  return c.reshape(wide, c.join({c.mul(rows, times), rest}));
}

ValueId padded_to(Composer& c, ValueId x, ValueId size, double value) {
  if (!c.ok()) return {};
  const int rank = c.ctx().module().value(x).type.rank();
  const ValueId missing = c.sub(size, c.dim(x, rank - 1));
  const ValueId filler = c.expand(c.like(value, x), c.join({c.shape(x, 0, rank - 1), missing}));
  return c.concat({x, filler}, rank - 1);
}

ValueId last_logits(Composer& c, ValueId logits, std::int64_t vocabulary) {
  const ValueId count = c.dim(logits, 1);
  ValueId last = c.squeeze(c.slice(logits, 1, c.sub(count, c.number(1)), count), {1});
  if (vocabulary > 0) last = c.slice(last, 1, 0, vocabulary);
  return c.cast(last, DType::f32);
}

ValueId ruled_scores(Composer& c, const TokenRules& rules, ValueId scores, ValueId sequences,
                     ValueId first) {
  if (rules.repetition_penalty.valid())
    scores = penalised(c, scores, sequences, rules.repetition_penalty);
  if (rules.no_repeat > 0)
    scores = block_repeated(c, sequences, scores, rules.no_repeat, kLowestScore);
  const auto is_zero = [&](ValueId mask) { return c.equal(mask, c.like(0, mask)); };
  if (rules.vocabulary.valid()) scores = forbidden(c, is_zero(rules.vocabulary), scores);
  if (rules.first_vocabulary.valid()) {
    const ValueId rows = c.dim(rules.first_vocabulary, 0);
    const ValueId mask = repeat_rows(c, rules.first_vocabulary, c.div(c.dim(scores, 0), rows));
    scores = forbidden(c, c.both(first, is_zero(mask)), scores);
  }
  if (rules.min_length.valid()) {
    const ValueId is_end = c.equal(c.count_up(c.dim(scores, 1)), c.number(rules.end));
    const ValueId too_short = c.less(c.dim(sequences, 1), rules.min_length);
    scores = forbidden(c, c.both(is_end, too_short), scores);
  }
  if (rules.temperature.valid()) scores = c.div(scores, c.cast(rules.temperature, DType::f32));
  return scores;
}

}  // namespace scanloom::onnx
