// Helpers shared by the attention operators: packed heads, grouped heads, the scale, and terms that
// are added to the scores.
#pragma once

#include <limits>

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

inline constexpr double kNegativeInfinity = -std::numeric_limits<double>::infinity();

/// Returns the number of heads given by an attribute. It must divide the last axis of x, the value
/// of a packed input.
std::int64_t heads_of(Composer& c, const char* name, int input, ir::ValueId x);
/// Turns [batch, positions, heads * size] into [batch, positions, heads, size].
ir::ValueId divide_heads(Composer& c, ir::ValueId x, std::int64_t heads);
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

/// Returns a term to add to the scores: 0 where `allowed`, otherwise `filter`.
ir::ValueId bias_of(Composer& c, ir::ValueId allowed, DType dtype,
                    double filter = kNegativeInfinity);
/// Returns tanh(scores / cap) * cap, or the scores if the cap is not positive.
ir::ValueId soft_capped(Composer& c, ir::ValueId scores, double cap);
/// Returns a + b, either of which may be invalid (absent).
ir::ValueId sum_of_present(Composer& c, ir::ValueId a, ir::ValueId b);

}  // namespace scanloom::onnx
