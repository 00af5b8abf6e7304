// Pointwise operators on sizes. What a model computes from Shape with Add, Mul or Div is tracked as
// dim expressions, so that the sizes of a later Reshape or Expand relate to those of the feeds.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/infer_ctx.h"
#include "tensor/scalar.h"

namespace scanloom::ops {

/// Returns the `count` elements of the program's only result, given those of its inputs (one, or
/// `count`, each). nullopt if a dim expression cannot represent one exactly.
std::optional<std::vector<tensor::Dim>> evaluate_dims(
    ir::InferCtx& ctx, const tensor::ScalarProgram& program,
    std::span<const std::vector<tensor::Dim>> inputs, std::size_t count);

}  // namespace scanloom::ops
