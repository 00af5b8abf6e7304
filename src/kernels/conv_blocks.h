// The vector functions of convolutions in blocks of filters (conv_planes.cpp): vectors lie along
// filters, whose weights are packed once, and meet elements of the planes, which are broadcast. No
// window is packed, and sums stay in registers for a block of taps. Where each filter has a channel
// of its own, vectors lie along these too.
#pragma once

#include <cstdint>
#include <limits>

#include "base/cpu.h"
#include "kernels/conv_activation.h"
#include "kernels/conv_band.h"
#include "kernels/isa_tables.h"

namespace scanloom::kernels {

/// The computation on complete sums, in this order: a product and a sum with an element per filter,
/// the sum with a residual, and the greater of the result and 0, but at most `high`, all while
/// these are in registers, or an activation, on sums that were just stored. Null, false or none:
/// left out.
template <class T>
struct ConvFinish {
  const T* scale = nullptr;    ///< of all filters
  const T* shift = nullptr;    ///< of all filters
  const T* rescale = nullptr;  ///< another product and sum after these
  const T* reshift = nullptr;
  const T* residual = nullptr;  ///< laid out as the sums
  bool clamps = false;
  T high = std::numeric_limits<T>::infinity();  ///< greater than 0; only if it clamps
  ConvActivation<T> activation;  ///< computed on stored sums, which are still in the L1 cache
};

/// Products of one block of filters with the windows of some lines. Every sum takes its taps in
/// order of multiply-adds (base/dot.h) from 0, or from what `sums` holds; the bias is added last.
template <class T>
struct ConvBlock {
  const T* planes = nullptr;
  const std::int64_t* taps = nullptr;  ///< offsets in the planes
  std::int64_t k = 0;
  const T* weights = nullptr;  ///< of k taps, each with the elements of all filters
  std::int64_t vectors = 0;    ///< of filters, at most ConvBlockFns::vectors
  const ConvLine* lines = nullptr;
  std::int64_t line_count = 0, width = 0;
  std::int64_t step = 1;  ///< elements of the planes from a position of a line to the next
  T* sums = nullptr;      ///< of the positions of all lines, each with the elements of all filters
  std::int64_t sums_step = 0;  ///< elements from the sums of a position to the next
  bool resume = false;
  const T* bias = nullptr;  ///< of all filters, or null
  ConvFinish<T> finish;     ///< after the bias
  bool fetches = false;     ///< the positions that the next tile reads are fetched
  /// Weights that are read after these, or null. So many bytes of them are fetched for each
  /// position of a tile, into the L1 cache by short tiles. Only where positions are apart, and
  /// where `fetches` is set only by tall tiles.
  const T* ahead = nullptr;
  std::int64_t ahead_bytes = 0;
  bool single = false;  ///< each filter meets a channel of its own; these are adjacent
  /// Taps in a row of the kernel, and elements from one to the next. Only of single channels.
  std::int64_t window = 1, tap_step = 0;
  const T* y = nullptr;  ///< where the sums go next, by filter and position, or null
  std::int64_t y_filter = 0;
};

template <class T>
struct ConvBlockFns {
  std::int64_t lanes = 0;    ///< filters of a vector
  std::int64_t vectors = 0;  ///< of a block, at most
  std::int64_t usual = 0;    ///< of most blocks
  /// Vectors of blocks whose tiles have fewer positions, but load less for each product.
  std::int64_t wide = 0;
  bool tall = false;        ///< tiles have many positions: there are 32 registers
  bool broadcasts = false;  ///< an element is broadcast as fast as it is loaded
  void (*multiply)(const ConvBlock<T>&) = nullptr;
};

/// The functions of one instruction set.
struct ConvBlockTables {
  ConvBlockFns<float> f32;
  ConvBlockFns<double> f64;
};

/// The table that `isa` permits.
const ConvBlockTables& conv_block_tables(Isa isa);

/// The functions for elements of type T.
template <class T>
const ConvBlockFns<T>& conv_block_fns(Isa isa) {
  return functions_for<T>(conv_block_tables(isa));
}

}  // namespace scanloom::kernels
