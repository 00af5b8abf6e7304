// Pointwise operators on sizes: what a model computes from Shape with Add, Mul or Div is followed
// as dim expressions, so that a later Reshape or Expand has sizes that relate to those of the
// feeds.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/infer_ctx.h"
#include "tensor/scalar.h"

namespace scanloom::ops {

/// The `count` elements of the program's one result, given those of its inputs (of each one, or
/// `count`); nullopt where a dim expression cannot say them exactly.
std::optional<std::vector<tensor::Dim>> evaluate_dims(
    ir::InferCtx& ctx, const tensor::ScalarProgram& program,
    std::span<const std::vector<tensor::Dim>> inputs, std::size_t count);

}  // namespace scanloom::ops
