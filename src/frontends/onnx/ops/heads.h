// Helpers shared by the attention operators: packed heads, grouped heads, and the scale.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// Turns [batch, positions, heads * size] into [batch, heads, positions, size].
ir::ValueId unpack_heads(Composer& c, ir::ValueId x, std::int64_t heads);
/// The inverse of unpack_heads().
ir::ValueId pack_heads(Composer& c, ir::ValueId x);
/// Returns the square root of the scale of the scores, by which queries and keys are each
/// multiplied. The scale is attribute `scale`, or 1 / sqrt(head size).
ir::ValueId root_of_scale(Composer& c, ir::ValueId query);
/// Returns the product per head for the einsum specification. Consecutive groups of heads of `many`
/// share one head of `few`. Both are [batch, heads, rows, columns].
ir::ValueId grouped_product(Composer& c, ir::ValueId many, ir::ValueId few, const char* spec);

}  // namespace scanloom::onnx
