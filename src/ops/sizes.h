// Rules about axes and sizes shared by the infer functions of many operators.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/infer_ctx.h"

namespace scanloom::ops {

/// Returns the axes in [0, rank), in the order given. Errors: an axis out of range, or named twice.
Expected<std::vector<int>> normalise_axes(const ir::InferCtx& ctx,
                                          std::span<const std::int64_t> axes, int rank);

/// Returns the size of an axis that must match both `a` and `b`: the more specific of the two,
/// where a number precedes a symbol, which precedes a fresh size. Error: two different numbers;
/// `what` names the axis.
Expected<tensor::Dim> same_size(ir::InferCtx& ctx, tensor::Dim a, tensor::Dim b,
                                std::string_view what);

/// Whether the size is known not to be negative, whatever the values of its symbols.
bool is_never_negative(ir::InferCtx& ctx, tensor::Dim size);

tensor::Dim product(ir::InferCtx& ctx, std::span<const tensor::Dim> sizes);

/// Error: input i, a list of numbers, has more than one axis; `what` names it.
Expected<void> check_list(const ir::InferCtx& ctx, int i, std::string_view what);

/// Error: input i has more than one axis, or is known not to have `count` elements; `what` names
/// it.
Expected<void> check_elements(const ir::InferCtx& ctx, int i, std::int64_t count,
                              std::string_view what);

/// Returns the number of elements of input i, a list or a single number, if its type determines it;
/// otherwise -1. Precondition: check_list has passed, since several axes look like unknown ones.
std::int64_t element_count(const ir::InferCtx& ctx, int i);

/// Sets output i. Errors: more than kMaxRank axes, a size below 0, more than 2^40 elements.
Expected<void> set_sizes(ir::InferCtx& ctx, int i, DType dtype, std::vector<tensor::Dim> sizes);

/// Records that the elements of output 0 are those of input 0, in order, if they are tracked.
void pass_integers(ir::InferCtx& ctx);

/// Upper bound on the integers of a tensor that are tracked as sizes.
inline constexpr std::int64_t kMaxFollowed = 1024;

/// Whether values of that dtype can be sizes.
constexpr bool holds_sizes(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

}  // namespace scanloom::ops
