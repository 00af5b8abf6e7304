// What generation does to the scores of the next token before it chooses one.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Limits on the next token. Operands that are absent are invalid; the others are values of the
/// region where the scores are.
struct TokenRules {
  ir::ValueId repetition_penalty;  ///< a scalar
  ir::ValueId vocabulary;          ///< [vocabulary], 0 for tokens that are never generated
  ir::ValueId first_vocabulary;    ///< [batch, vocabulary], the same for the first token only
  ir::ValueId min_length;          ///< a scalar: shorter sequences do not end
  ir::ValueId temperature;         ///< a scalar, by which the scores are divided
  std::int64_t no_repeat = 0;      ///< the size of runs of tokens that must not repeat, or 0
  std::int64_t end = 0;            ///< the token that ends a sequence
};

/// Returns the scores [sequences, vocabulary] under the rules, applied in the order of ONNX
/// Runtime's logits processors. `sequences` holds the tokens so far, [sequences, length]; `first`
/// is a boolean scalar. The sequences are those of the batch, or several consecutive ones for each.
ir::ValueId ruled_scores(Composer& c, const TokenRules& rules, ir::ValueId scores,
                         ir::ValueId sequences, ir::ValueId first);

/// Returns the scores of the last position of logits [sequences, positions, vocabulary], in f32.
/// Tokens from `vocabulary` on are left out unless that is 0 or less.
ir::ValueId last_logits(Composer& c, ir::ValueId logits, std::int64_t vocabulary);

/// Repeats each row of x [rows, ...] `times`, a scalar.
ir::ValueId repeat_rows(Composer& c, ir::ValueId x, ir::ValueId times);

/// Appends `value` to the last axis of x until it has `size` elements.
ir::ValueId padded_to(Composer& c, ir::ValueId x, ir::ValueId size, double value);

}  // namespace scanloom::onnx
