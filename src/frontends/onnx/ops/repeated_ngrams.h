// Sequences of tokens that occur again, which generation avoids.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Returns the scores [batch, vocabulary] with `filter` for every token that would repeat a run of
/// `size` tokens of `tokens`, [batch, length]. Both scores and filter are floating-point.
ir::ValueId block_repeated(Composer& c, ir::ValueId tokens, ir::ValueId scores, std::int64_t size,
                           double filter);

}  // namespace scanloom::onnx
