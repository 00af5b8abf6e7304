// RowsPlan: a RowProgram over bound operands, lowered to steps over blocks of rows. Rows of at most
// kMaxChunk elements are taken several at a time, so that a step's overhead is shared. Longer ones
// are taken one at a time, phase by phase: a phase ends where a fold of the whole row is needed,
// and runs its steps chunk by chunk, so that values of one phase stay in L1.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/pointwise_plan.h"
#include "kernels/row_folds.h"

namespace scanloom::kernels {

/// Elements of a block, if it has several rows, and the longest chunk.
inline constexpr std::int64_t kBlockElements = 2048, kMaxChunk = kFetchedAhead;
static_assert(kMaxChunk % tensor::kMaxParts == 0);

struct RowStep {
  enum class Mode : std::uint8_t {
    rows,          ///< over one element per row
    elements,      ///< over all elements of the chunk
    by_row,        ///< over the elements of each row; an argument is one element per row
    fill,          ///< broadcasts one element per row over the row
    fold,          ///< one element per row, from its elements
    fold_shifted,  ///< the same, from their differences to a second argument, one per row
    /// Exponentials of such differences, and one sum per row of at least kMinInterleaved of them.
    fold_exp,
  };
  Mode mode = Mode::elements;
  ElementFn fn = nullptr;
  ValueId out = 0;
  std::array<ValueId, 3> args{};
  /// by_row: bytes from a row of the argument to the next; 0 if it is the same for all.
  std::array<std::int64_t, 3> row_steps{};
  std::uint8_t bytes = 4;  ///< of an element of `out`
  RowFoldFns fold;
  std::int16_t parts = 0;  ///< folds: which parts in scratch
  ValueId sum = 0;         ///< fold_exp: its other result
  bool stores = true;      ///< fold_exp: whether anything reads the exponentials

  [[nodiscard]] bool folds() const {
    return mode == Mode::fold || mode == Mode::fold_shifted || mode == Mode::fold_exp;
  }
  [[nodiscard]] ValueId folded() const { return mode == Mode::fold_exp ? sum : out; }
};

/// Steps over rows come first, then those over elements.
struct RowPhase {
  std::vector<RowStep> rows, elements;
};

struct RowOperand {
  enum class Kind : std::uint8_t {
    elements,  ///< adjacent, row after row
    inner,     ///< adjacent, the same for all rows
    per_row,   ///< one element per row, gathered
    single,
    strided,  ///< gathered
  };
  std::int16_t index = 0;  ///< among the call's inputs, or its outputs
  ValueId value = 0;
  Kind kind = Kind::elements;
  std::uint8_t bytes = 4;
  std::array<std::int64_t, tensor::kMaxRank> strides{};  ///< in bytes
};

struct RowsPlan {
  int rank = 0, row_rank = 0;  ///< axes [row_rank, rank) are within a row
  std::array<std::int64_t, tensor::kMaxRank> dims{};
  std::int64_t rows = 1, size = 1;    ///< rows, and elements of a row
  std::int64_t block = 1, chunk = 1;  ///< rows of a block, elements of a chunk
  std::int64_t slots = 1;             ///< tasks that threads share
  std::vector<RowOperand> inputs, outputs;
  std::vector<Spread> row_spreads, spreads;  ///< filled once, for rows and for chunks
  std::vector<RowPhase> phases;
  std::vector<std::uint64_t> constants;
  int folds = 0;  ///< that need parts
  // The pointer table holds constants, then columns of rows, of chunks and of blocks, then
  // operands.
  ValueId first_row_column = 0, first_chunk_column = 0, first_block_column = 0, first_operand = 0;
  ValueId value_count = 0;
  std::int64_t element_bytes = 4;  ///< of columns

  [[nodiscard]] bool is_one_chunk() const { return chunk >= block * size; }
  [[nodiscard]] std::int64_t slot_bytes() const;
};

/// Fills in axes, operands, blocks and chunks, but not where values are.
void lay_out_rows(const PrepareCtx& ctx, RowsPlan& plan);

/// Lowers the program into `plan`. Returns why it cannot be; nullopt: it is done.
std::optional<Refusal> lower_rows(const PrepareCtx& ctx, RowsPlan& plan);

}  // namespace scanloom::kernels
