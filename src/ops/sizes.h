// Rules about axes and sizes that the infer functions of many operators share.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ir/infer_ctx.h"

namespace scanloom::ops {

/// The axes in [0, rank), in the order given. Errors: an axis outside, or named twice.
Expected<std::vector<int>> normalise_axes(const ir::InferCtx& ctx,
                                          std::span<const std::int64_t> axes, int rank);

/// The size of something that must measure both `a` and `b`: of the two the one that says more, a
/// number before a symbol before a fresh one. Error: two numbers that differ; `what` names it.
Expected<tensor::Dim> same_size(ir::InferCtx& ctx, tensor::Dim a, tensor::Dim b,
                                std::string_view what);

/// Whether the size is known not to be negative, whatever its symbols are.
bool is_never_negative(ir::InferCtx& ctx, tensor::Dim size);

tensor::Dim product(ir::InferCtx& ctx, std::span<const tensor::Dim> sizes);

/// Error: input i, a list of numbers, has more than one axis; `what` names it.
Expected<void> check_list(const ir::InferCtx& ctx, int i, std::string_view what);

/// Error: input i has more than one axis, or is known to have another number of elements than
/// `count`; `what` names it.
Expected<void> check_elements(const ir::InferCtx& ctx, int i, std::int64_t count,
                              std::string_view what);

/// The number of elements of input i, a list or a single number, where its type says it; -1
/// otherwise. Precondition: check_list has passed, since more axes are not told from unknown ones.
std::int64_t element_count(const ir::InferCtx& ctx, int i);

/// Sets output i. Errors: more than kMaxRank axes, a size below 0, more than 2^40 elements.
Expected<void> set_sizes(ir::InferCtx& ctx, int i, DType dtype, std::vector<tensor::Dim> sizes);

/// Says that the elements of output 0 are those of input 0, in order, where they are followed.
void pass_integers(ir::InferCtx& ctx);

/// Integers that are worth following as sizes: at most this many of them.
inline constexpr std::int64_t kMaxFollowed = 1024;

/// Whether values of that type can be sizes at all.
constexpr bool holds_sizes(DType dtype) { return dtype == DType::i64 || dtype == DType::i32; }

}  // namespace scanloom::ops
