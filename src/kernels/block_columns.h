// Numbers of 2, 4 or 8 bits as f32 (opmath/block_quantization.h): columns of matrices whose columns
// are adjacent in memory, as panels of a product (product.h), and runs. Computed as
// (number - zero) * scale, rounded operation by operation.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace scanloom::kernels {

/// Columns that are dequantized together; panels are multiples of it.
inline constexpr int kBlockColumns = 8;
/// Bytes of a column that are taken at once.
inline constexpr std::int64_t kBlockBytes = 16;
/// Rows that may be written after the last one.
inline constexpr std::int64_t kBlockSlackRows = 4;

/// Some rows of kBlockColumns columns.
struct BlockColumns {
  const std::uint8_t* columns[kBlockColumns] = {};  ///< where the first row is
  std::int64_t bytes = 0;                           ///< of each column, that may be read
  std::int64_t rows = 0;
  std::int64_t block = 0;  ///< rows per scale; the first row begins a block, or all are of one
  /// kBlockColumns per block.
  const float *scales = nullptr, *zeros = nullptr;
  float* to = nullptr;
  std::int64_t step = 0;  ///< from one row to the next
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
  void (*columns[3])(const BlockColumns&) = {};
  void (*run[3])(const BlockRun&) = {};
};

constexpr std::size_t block_fn(std::int64_t bits) { return bits == 2 ? 0 : bits == 4 ? 1 : 2; }

/// The functions that `isa` permits.
const BlockFns& block_fns(Isa isa);

}  // namespace scanloom::kernels
