// Scaled dot-product attention of heads, as the operators of com.microsoft share it: a mask and a
// bias are added to the scores, which are computed in at least f32.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Operands of the attention of each head: [batch, heads, positions, size]. Consecutive groups of
/// heads of the query share one head of the keys and values.
struct HeadAttention {
  ir::ValueId query, keys, values;
  ir::ValueId bias;  ///< added to the scaled scores; invalid if absent
  ir::ValueId sink;  ///< a logit per head that takes part in the softmax only; invalid if absent
  double softcap = 0;
};

struct HeadScores {
  ir::ValueId biased;  ///< scaled scores with the bias
  ir::ValueId soft;    ///< their softmax
  ir::ValueId y;       ///< [batch, heads, positions, size of a value], in the type of the query
};

/// Attribute `scale` is read here; 0 means 1 / sqrt(head size).
HeadScores attend(Composer& c, const HeadAttention& heads);

/// The operands that decide which keys a query of MultiHeadAttention and Attention sees.
struct KeyMask {
  int input = 0;             ///< the operand that is a mask; may be absent
  bool with_starts = false;  ///< a list may also hold where each row of the batch starts
  ir::ValueId query, keys;   ///< [batch, heads, positions, size]
  ir::ValueId past;          ///< the number of keys before those of the query, a scalar
};

/// Returns the sum of the terms for the mask, for the order of tokens (attribute unidirectional),
/// and input `bias`; invalid if there are none. Where a mask hides a key, attribute
/// mask_filter_value is added; where the order does, minus infinity. A mask is a list of the ends
/// of the keys (followed by their starts), or has the axes [batch, keys], [batch, queries, keys] or
/// [batch, 1, positions, positions]. Errors: another number of axes or of keys.
ir::ValueId masking_terms(Composer& c, const KeyMask& mask, int bias);

/// Writes the rows of `added` into `cache` from position `start`, a scalar: [batch, heads,
/// positions, size]. The run fails if they do not fit.
ir::ValueId write_cache(Composer& c, ir::ValueId cache, ir::ValueId added, ir::ValueId start);

}  // namespace scanloom::onnx
