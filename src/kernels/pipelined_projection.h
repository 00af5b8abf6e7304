// Products of a recurrent loop. One has a row for every step and could be made before the loop:
// what the inputs are multiplied by. Others have one row and are made in every step: what the state
// is multiplied by. Here the first is made beside the others, some steps ahead (pipelined_tile.h).
// Its rows lie where they would anyway, and have the same bits. Used by
// plan/bind/pipelined_projection.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// What the kernel contract makes of an f32 product of two matrices, the one that lies along
/// vectors constant.
struct PackedProduct {
  int a_input = 0;  ///< the input whose elements are spread over vectors
  std::int64_t m = 1, n = 1, k = 1;
  std::int64_t a_row = 0, a_step = 0, c_row = 0, c_column = 1;
  std::shared_ptr<const void> packed;
};

/// nullopt: it is another product. Defined beside the kernel.
std::optional<PackedProduct> packed_product(const PrepareCtx& ctx);

/// Whether a product of f32, by the elements of its operands and of its result, may be one of a
/// step that others are made beside, if it is one of a row by a constant matrix.
bool can_be_pipelined(std::int64_t a, std::int64_t b, std::int64_t result);

/// Of the first of all blocks of a loop's steps, which are as long as the others: the steps that
/// are taken, those that the others leave over.
constexpr std::int64_t steps_of_first_block(std::int64_t steps, std::int64_t block) {
  return (steps - 1) % block + 1;
}

/// Steps of blocks, `least` or some more, that can make the first rows of the next (RowWalk); as
/// far as there are such that the first block has enough of them to make rows, too.
std::int64_t steps_of_pipelined_blocks(std::int64_t steps, std::int64_t least);

/// How a loop walks over rows, of all its steps or of a block of them.
struct RowWalk {
  std::int64_t first_bytes = 0, step_bytes = 0;  ///< from where to where
  std::int64_t rows = 0;  ///< one for each step, of a block if there are such
  /// Of the loop. With more of them than rows the steps of a block make the first rows of the next
  /// where blocks have whole chunks of kRowsAhead; otherwise each block is made by itself.
  std::int64_t steps = 0;
};

/// A call that takes the place of one of contract.
struct PipelinedCall {
  tensor::KernelFn run = nullptr;  ///< null: that one stays
  std::shared_ptr<const void> prepared;
  double products = 0;  ///< multiplications of a step beside its own product
  std::int64_t bytes = 0;
};

struct PipelinedCalls {
  /// In the place of the product of all steps, or of each block: makes the rows of the first steps.
  /// It has one more input: the operand with a row for every step, where it begins.
  PipelinedCall first_rows;
  int a_input = 0;  ///< of that product: the operand that has a row for every step
  /// In the place of the others. After the inputs that these have, such a call has three more: that
  /// operand, of the block, the step's slice of the product of all steps, and where the operand
  /// begins; and another result: this product.
  std::vector<PipelinedCall> steps;
};

/// `all`: the product of all steps. `bias`: what is added to its columns, neighbours, or null; it
/// is copied. `steps`: products that every step makes, in this order. nullopt where the first
/// cannot be made beside the others, or where that does not pay.
std::optional<PipelinedCalls> pipelined_projection(const PrepareCtx& all, const float* bias,
                                                   const RowWalk& walk,
                                                   std::span<const PrepareCtx> steps);

}  // namespace scanloom::kernels
