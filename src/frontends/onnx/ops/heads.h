// What the attention operators share: heads packed into an axis, heads in groups, their scale.
#pragma once

#include "frontends/onnx/ops/composer.h"

namespace scanloom::onnx {

/// [batch, positions, heads * size] as [batch, heads, positions, size].
ir::ValueId unpack_heads(Composer& c, ir::ValueId x, std::int64_t heads);
/// The way back.
ir::ValueId pack_heads(Composer& c, ir::ValueId x);
/// The root of the factor of the scores, by which queries and keys are multiplied: attribute
/// `scale`, or 1 / sqrt(size of a head).
ir::ValueId root_of_scale(Composer& c, ir::ValueId query);
/// The product per head by the einsum specification, where heads of `many` share one of `few` in
/// groups, in order. Both are [batch, heads, rows, columns].
ir::ValueId grouped_product(Composer& c, ir::ValueId many, ir::ValueId few, const char* spec);

}  // namespace scanloom::onnx
