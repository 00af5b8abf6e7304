// The vector functions of convolutions by Winograd's minimal filtering (conv_winograd.cpp,
// opmath/winograd.h) other than its products. Vectors lie along channels of x, and along filters of
// the result.
#pragma once

#include <cstdint>

#include "base/cpu.h"
#include "kernels/conv_blocks.h"

namespace scanloom::kernels {

/// A tile of 2x2 results.
struct WinogradTile {
  const float* patch[16] = {};  ///< the elements that it reads, row-major, of the first channel
  std::int64_t to = 0;          ///< offset of its first result
  bool has_row = true, has_column = true;  ///< whether the second row and column are results
};

/// Transforms the patches of some tiles. Element (part, tile, channel) of the result is
/// to[part * to_part + tile * to_tile + channel]; up to a vector after the channels is written.
struct WinogradInput {
  const WinogradTile* tiles = nullptr;
  std::int64_t count = 0, channels = 0;
  float* to = nullptr;
  std::int64_t to_part = 0, to_tile = 0;
};

/// Transforms the sums of some tiles for a block of filters, finishes them, and stores the results
/// with the filters of a position adjacent.
struct WinogradOutput {
  const float* sums = nullptr;  ///< element (part, tile, filter), as of WinogradInput
  std::int64_t sums_part = 0, sums_tile = 0;
  const WinogradTile* tiles = nullptr;
  std::int64_t count = 0;
  std::int64_t vectors = 0, filters = 0;  ///< of the block; whole vectors are stored
  float* to = nullptr;
  std::int64_t to_row = 0, to_position = 0;
  const float* bias = nullptr;  ///< of whole vectors, or null
  ConvFinish<float> finish;     ///< its residual is laid out as the results
  // For sums that are not finite: 9 adjacent weights per channel of each filter.
  const float* weights = nullptr;
  std::int64_t w_filter = 0, channels = 0;
};

struct WinogradFns {
  void (*input)(const WinogradInput&) = nullptr;
  void (*output)(const WinogradOutput&) = nullptr;
};

/// The functions that `isa` permits.
const WinogradFns& winograd_fns(Isa isa);

}  // namespace scanloom::kernels
