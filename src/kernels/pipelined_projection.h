// Pipelined input projection of a recurrent loop. The product with the inputs has a row for every
// step and could be computed before the loop; the products with the state have one row each and are
// computed in every step. Here the steps compute the input product too, some steps ahead, while the
// state's weights stream in (pipelined_tile.h). Its rows keep their place in memory and their bits.
// Used by plan/bind/pipelined_projection.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// How the kernel contract computes an f32 product of two matrices, of which the one along the
/// vectors is constant.
struct PackedProduct {
  int a_input = 0;  ///< the input whose elements are broadcast over vectors
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t a_row = 0, a_step = 0, c_row = 0, c_column = 1;
  std::shared_ptr<const void> packed;
};

/// nullopt for any other product. Defined in contract.cpp.
std::optional<PackedProduct> packed_product(const PrepareCtx& ctx);

/// Whether an f32 product with these numbers of elements can be one during which an input
/// projection is computed, provided that it multiplies one row by a constant matrix.
bool can_be_pipelined(std::int64_t a, std::int64_t b, std::int64_t result);

/// Steps in the first block when a loop runs in blocks of `block` steps: the remainder, or a whole
/// block. For example, 10 steps in blocks of 4 begin with a block of 2.
constexpr std::int64_t steps_of_first_block(std::int64_t steps, std::int64_t block) {
  return (steps - 1) % block + 1;
}

/// Returns a block length of at least `least` steps at which a block can compute the first rows of
/// the next one (RowWalk). Prefers a length whose first block is long enough for that too.
std::int64_t steps_of_pipelined_blocks(std::int64_t steps, std::int64_t least);

/// How a loop walks over the rows of all its steps, or of one block of them.
struct RowWalk {
  std::int64_t first_bytes = 0, step_bytes = 0;  ///< offset of the first row; distance between rows
  std::int64_t rows = 0;  ///< one per step, of a block if the loop runs in blocks
  /// Steps of the whole loop. If there are more than rows and blocks consist of whole chunks of
  /// kRowsAhead, each block computes the first rows of the next; otherwise each block is on its
  /// own.
  std::int64_t steps = 0;
};

/// A call that replaces a call of contract.
struct PipelinedCall {
  tensor::KernelFn run = nullptr;  ///< null: the original call is kept
  std::shared_ptr<const void> prepared;
  double products = 0;  ///< multiplications per step in addition to its own product
  std::int64_t bytes = 0;
};

struct PipelinedCalls {
  /// Replaces the product of all steps, or of each block: computes the rows of the first steps. It
  /// has one more input: the start of the operand that has a row per step.
  PipelinedCall first_rows;
  int a_input = 0;  ///< the operand of that product that has a row per step
  /// Replace the products of a step. After the original inputs each call has three more: that
  /// operand's rows of the block, the step's slice of the product of all steps, and the start of
  /// the operand. It has one more result: the product of all steps.
  std::vector<PipelinedCall> steps;
};

/// `all`: the product of all steps. `bias`: adjacent values added to its columns (copied), or null.
/// `steps`: the products of every step, in this order. nullopt if the product of all steps cannot
/// be pipelined, or if no step's product is large enough.
std::optional<PipelinedCalls> pipelined_projection(const PrepareCtx& all, const float* bias,
                                                   const RowWalk& walk,
                                                   std::span<const PrepareCtx> steps);

}  // namespace scanloom::kernels
