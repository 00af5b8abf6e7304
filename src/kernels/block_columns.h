// Numbers of 2, 4 or 8 bits as f32 (opmath/block_quantization.h): columns of matrices whose columns
// are adjacent in memory, as panels of a product (product.h), and runs. Computed as
// (number - zero) * scale, rounded operation by operation.
#pragma once

#include <array>
#include <cstdint>

#include "base/cpu.h"

namespace scanloom::kernels {

/// The fewest and the most columns that are dequantized together.
inline constexpr int kMinBlockColumns = 8, kMaxBlockColumns = 16;
/// Bytes of a column that are taken at once.
inline constexpr std::int64_t kBlockBytes = 16;
/// Rows are written in groups of so many, also after the last one.
inline constexpr std::int64_t kBlockRows = 16;

/// Some rows of BlockFns::width columns.
struct BlockColumns {
  const std::uint8_t* columns[kMaxBlockColumns] = {};  ///< where the first row is
  std::int64_t bytes = 0;                              ///< of each column, that may be read
  std::int64_t rows = 0;
  std::int64_t block = 0;  ///< rows per scale; the first row begins a block, or all are of one
  /// One per column, block after block.
  const float *scales = nullptr, *zeros = nullptr;
  float* to = nullptr;
  std::int64_t step = 0;  ///< from one row to the next
};

/// Columns that few rows are multiplied by at once, and the most such rows.
inline constexpr int kBlockFewColumns = 64, kMaxBlockProductRows = 4;

/// A few rows of x times kBlockFewColumns columns, dequantized in registers. Blocks and rows must
/// fill whole groups of kBlockBytes.
struct BlockProduct {
  const BlockColumns* groups = nullptr;  ///< BlockFns::width columns each; `to` is not used
  const float* x = nullptr;              ///< where the first row of the columns is met
  std::int64_t x_row = 0;
  float* y = nullptr;
  std::int64_t y_row = 0;
  bool resume = false;  ///< continues from the values in y instead of 0
};

/// A few rows of x times a panel of kBlockFewColumns columns of bytes with a scale each: row k of
/// the panel begins at bytes[k * kBlockFewColumns]. A weight is (byte - zero) * scale.
struct BytePanelProduct {
  const std::int8_t* bytes = nullptr;
  const float *scales = nullptr, *zeros = nullptr;  ///< one per column; zeros may be null: all 0
  const float* x = nullptr;
  std::int64_t x_row = 0, rows = 0;  ///< rows of the panel
  float* y = nullptr;
  std::int64_t y_row = 0;
  bool resume = false;  ///< continues from the values in y instead of 0
};

/// A run of numbers of one block.
struct BlockRun {
  const std::uint8_t* bytes = nullptr;
  std::int64_t count = 0;
  float scale = 0, zero = 0;
  float* to = nullptr;
};

/// Indexed by the binary logarithm of the bits, minus 1.
struct BlockFns {
  int width = 0;  ///< columns that are dequantized together; panels are multiples of it
  void (*columns[3])(const BlockColumns&) = {};
  /// Indexed by the rows of x - 1 as well; null where that does not pay.
  using Multiply = std::array<void (*)(const BlockProduct&), kMaxBlockProductRows>;
  Multiply multiply[3] = {};
  /// Indexed by the rows of x - 1; null where that does not pay.
  std::array<void (*)(const BytePanelProduct&), kMaxBlockProductRows> panel = {};
  void (*run[3])(const BlockRun&) = {};
};

constexpr std::size_t block_fn(std::int64_t bits) { return bits == 2 ? 0 : bits == 4 ? 1 : 2; }

/// The functions that `isa` permits.
const BlockFns& block_fns(Isa isa);

}  // namespace scanloom::kernels
