// The part of a convolution over padded planes that multiplies in blocks of filters
// (conv_blocks.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/any_address.h"
#include "kernels/conv_band.h"
#include "kernels/conv_blocks.h"
#include "kernels/transpose.h"

namespace scanloom::kernels {

/// A block of the filters of a group, or of a part of it.
struct FilterBlock {
  std::int64_t first = 0, filters = 0, vectors = 0;
  std::int64_t packed = 0;  ///< filters whose weights are packed before its own
};

/// The last block where filters do not fill its vectors.
enum class LastBlock : std::uint8_t {
  idles,  ///< elements of its last vector are idle
  /// It begins earlier and computes some filters again, with the same bits: their results are
  /// written twice, so one thread must compute all filters, and no residual may be the result.
  overlaps,
};

/// Calls f(block) for the blocks of so many filters: of `usual` vectors, but at the end none of a
/// single vector, which would meet each element of the planes only once. Blocks of some filters are
/// also those of more, if usual ones and more than these are left.
template <class T, class F>
void for_each_filter_block(const ConvBlockFns<T>& fns, std::int64_t usual, std::int64_t filters,
                           LastBlock last, F&& f) {
  const std::int64_t vectors = (filters + fns.lanes - 1) / fns.lanes;
  const std::int64_t most = std::max<std::int64_t>(usual, 3);
  for (std::int64_t at = 0; at < vectors;) {
    const std::int64_t left = vectors - at;
    const std::int64_t taken = left <= most ? left : left == most + 1 ? most - 1 : usual;
    const std::int64_t begin = at * fns.lanes, width = taken * fns.lanes;
    const std::int64_t first =
        last == LastBlock::overlaps ? std::min(begin, filters - width) : begin;
    f(FilterBlock{first, std::min(width, filters - first), taken, begin});
    at += taken;
  }
}

/// Whether blocks that overlap compute so many filters.
template <class T>
bool may_overlap(const ConvBlockFns<T>& fns, std::int64_t usual, std::int64_t filters) {
  bool fits = true;
  for_each_filter_block(fns, usual, filters, LastBlock::overlaps,
                        [&](const FilterBlock& block) { fits &= block.first >= 0; });
  return fits;
}

/// Taps whose weights are packed: of every `period`, `kept` from `first` on.
struct PeriodicTaps {
  std::int64_t period = 1, first = 0, kept = 1;

  /// Returns how many of k taps, whole periods, are packed.
  [[nodiscard]] std::int64_t of(std::int64_t k) const { return k / period * kept; }
};

/// Elements of the packed weights of a group.
inline std::int64_t block_weights(std::int64_t filters, std::int64_t k, std::int64_t lanes) {
  return (filters + lanes - 1) / lanes * lanes * k;
}

/// Packs the weights of a group: block by block, of each tap those of all filters. `to` is zero;
/// weights may be at any address.
template <class T>
void pack_filter_blocks(const ConvBlockFns<T>& fns, std::int64_t usual, const T* weights,
                        std::int64_t w_filter, std::int64_t filters, std::int64_t k,
                        const PeriodicTaps& taps, LastBlock last, T* to) {
  std::vector<T> memory;
  for_each_filter_block(fns, usual, filters, last, [&](const FilterBlock& block) {
    const std::int64_t width = block.vectors * fns.lanes;
    T* const packed = to + block.packed * taps.of(k);
    for (std::int64_t f = 0; f < block.filters; ++f) {
      const T* const from = aligned_elements(weights + (block.first + f) * w_filter, k, memory);
      T* at = packed + f;
      for (std::int64_t i = taps.first; i < k; i += taps.period)
        for (std::int64_t j = 0; j < taps.kept; ++j, at += width) *at = from[i + j];
    }
  });
}

/// Positions whose sums are kept between blocks of taps: few enough for the L2 cache.
inline constexpr std::int64_t kBlockPositions = 512;

/// Elements of the sums and biases of a block.
template <class T>
std::int64_t block_sums(const ConvBlockFns<T>& fns) {
  return (kBlockPositions + 1) * fns.vectors * fns.lanes;
}

/// Taps of a block of taps, whose weights take a part of the cache: all taps are split evenly.
template <class T>
std::int64_t block_taps(const ConvBlockFns<T>& fns, std::int64_t k) {
  // Short tiles read the weights more often, so these should stay in the L1 cache.
  const std::int64_t bytes_of_vector = (fns.tall ? 32 : 8) * 1024;
  const std::int64_t most = bytes_of_vector / (fns.lanes * static_cast<std::int64_t>(sizeof(T)));
  const std::int64_t blocks = std::max<std::int64_t>((k + most - 1) / most, 1);
  return (k + blocks - 1) / blocks;
}

/// Calls f(piece, first) for pieces of the band of at most so many positions: whole lines, or parts
/// of one. `piece` has lines, width and planes of s; `first` is its first position.
template <class T, class F>
void for_each_piece(const ConvBand<T>& s, std::int64_t most, F&& f) {
  ConvBlock<T> piece;
  piece.step = s.step;
  piece.fetches = s.fetches;
  piece.single = s.single;
  piece.window = s.window;
  piece.tap_step = s.tap_step;
  if (s.width <= most) {
    const std::int64_t lines = most / s.width;
    for (std::int64_t line = 0; line < s.line_count; line += lines) {
      piece.planes = s.planes;
      piece.lines = s.lines + line;
      piece.line_count = std::min(lines, s.line_count - line);
      piece.width = s.width;
      f(piece, line * s.width);
    }
    return;
  }
  const std::int64_t pieces = (s.width + most - 1) / most;
  for (std::int64_t line = 0; line < s.line_count; ++line)
    for (std::int64_t i = 0; i < pieces; ++i) {
      const std::int64_t first = i * s.width / pieces;
      piece.planes = s.planes + first * s.step;
      piece.lines = s.lines + line;
      piece.line_count = 1;
      piece.width = (i + 1) * s.width / pieces - first;
      f(piece, line * s.width + first);
    }
}

/// Copies the biases of a block, after which come zeros. Returns them, or null if there are none.
template <class T>
const T* copy_biases(const ConvBand<T>& s, const FilterBlock& block, std::int64_t lanes, T* to) {
  if (s.bias == nullptr) return nullptr;
  for (std::int64_t f = 0; f < block.vectors * lanes; ++f)
    to[f] = f < block.filters ? s.bias[(block.first + f) * s.bias_step] : T{0};
  return to;
}

/// Returns `finish` for a block of filters whose results begin `offset` after those of `finish`.
template <class T>
ConvFinish<T> finish_of(ConvFinish<T> finish, const FilterBlock& block, std::int64_t offset) {
  for (const T** const of_filters :
       {&finish.scale, &finish.shift, &finish.rescale, &finish.reshift})
    if (*of_filters != nullptr) *of_filters += block.first;
  if (finish.residual != nullptr) finish.residual += offset;
  return finish;
}

/// Weights of so many bytes stay in the L2 cache from one piece to the next.
inline constexpr std::int64_t kWeightsOfPieces = 1024 * 1024;

template <class T>
std::int64_t bytes_of_weights(const ConvBand<T>& s) {
  return s.filters * s.k * static_cast<std::int64_t>(sizeof(T));
}

/// Whether the weights, which other layers have probably evicted, meet so few positions that the
/// first piece would wait for them.
template <class T>
bool fetches_weights(const ConvBlockFns<T>& fns, const ConvBand<T>& s) {
  constexpr std::int64_t kSmallWeights = 128 * 1024;
  return fns.tall && bytes_of_weights(s) > kSmallWeights &&
         s.line_count * s.width <= kBlockPositions && !s.single && s.step != 1;
}

/// Computes the sums of a piece, a block of taps after another. `piece` has its sums and `y`.
/// `fetches`: the weights that follow are not in a cache, so each block of taps fetches those of
/// the next, or of the next block of filters.
template <class T>
void multiply_taps(const ConvBlockFns<T>& fns, const ConvBand<T>& s, const T* packed,
                   const FilterBlock& block, const T* bias, const ConvFinish<T>& finish,
                   bool fetches, ConvBlock<T> piece) {
  const std::int64_t taps = block_taps(fns, s.k), width = block.vectors * fns.lanes;
  const T* const y = piece.y;
  const std::int64_t positions = piece.line_count * piece.width;
  piece.vectors = block.vectors;
  for (std::int64_t tap = 0; tap < s.k; tap += taps) {
    const bool last = tap + taps >= s.k;
    piece.taps = s.taps + tap;
    piece.k = std::min(taps, s.k - tap);
    piece.weights = packed + block.packed * s.k + tap * width;
    piece.resume = tap > 0;
    piece.bias = last ? bias : nullptr;
    piece.finish = last ? finish : ConvFinish<T>();
    piece.y = last ? y : nullptr;
    const bool is_end = last && block.first + block.filters >= s.filters;
    piece.ahead = fetches && !is_end ? piece.weights + piece.k * width : nullptr;
    piece.ahead_bytes = piece.k * width * static_cast<std::int64_t>(sizeof(T)) / positions;
    fns.multiply(piece);
  }
}

/// Computes a band whose lines are adjacent in y with weights that pack_filter_blocks packed, and
/// memory for block_sums. `finish` has no residual. Calls finished(block, first, count) for parts
/// that are complete.
template <class T, class Finished>
void multiply_blocks(const ConvBlockFns<T>& fns, TransposeFn transpose, const ConvBand<T>& s,
                     const T* packed, const ConvFinish<T>& finish, T* memory, Finished&& finished) {
  for_each_filter_block(
      fns, s.block_vectors, s.filters, LastBlock::idles, [&](const FilterBlock& block) {
        const std::int64_t width = block.vectors * fns.lanes;
        const T* const bias =
            copy_biases(s, block, fns.lanes, memory + kBlockPositions * fns.vectors * fns.lanes);
        for_each_piece(s, kBlockPositions, [&](ConvBlock<T> piece, std::int64_t first) {
          T* const y = s.y + block.first * s.y_filter + first;
          piece.sums = memory;
          piece.sums_step = width;
          piece.y = y;
          piece.y_filter = s.y_filter;
          multiply_taps(fns, s, packed, block, bias, finish_of(finish, block, 0),
                        first == 0 && fetches_weights(fns, s), piece);
          constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
          const std::int64_t count = piece.line_count * piece.width;
          transpose({.from = reinterpret_cast<const std::byte*>(memory),
                     .to = reinterpret_cast<std::byte*>(y),
                     .rows = count,
                     .columns = block.filters,
                     .from_step = width * kSize,
                     .to_step = s.y_filter * kSize});
          finished(block, first, count);
        });
      });
}

/// As multiply_blocks, where the filters of a position are adjacent in y, which holds the sums.
/// Blocks overlap where filters do not fill whole vectors. The residual of `finish` begins where
/// the band does. Calls finished(first, count) for positions whose filters are all complete.
template <class T, class Finished>
void multiply_blocks_last(const ConvBlockFns<T>& fns, const ConvBand<T>& s, const T* packed,
                          const ConvFinish<T>& finish, T* memory, Finished&& finished) {
  constexpr std::int64_t kResults = 14 * 1024;
  const auto multiply = [&](const FilterBlock& block, const T* bias, ConvBlock<T> piece,
                            std::int64_t first) {
    const std::int64_t offset = first * s.y_step + block.first;
    if (s.single) piece.planes += block.first;
    piece.sums = s.y + offset;
    piece.sums_step = s.y_step;
    multiply_taps(fns, s, packed, block, bias, finish_of(finish, block, offset),
                  first == 0 && fetches_weights(fns, s), piece);
  };
  if (bytes_of_weights(s) > kWeightsOfPieces || s.single) {
    for_each_filter_block(
        fns, s.block_vectors, s.filters, LastBlock::overlaps, [&](const FilterBlock& block) {
          const T* const bias = copy_biases(s, block, fns.lanes, memory);
          for_each_piece(s, kBlockPositions, [&](const ConvBlock<T>& piece, std::int64_t first) {
            multiply(block, bias, piece, first);
          });
        });
    return finished(0, s.line_count * s.width);
  }
  const std::int64_t most = std::clamp<std::int64_t>(kResults / s.filters, 56, kBlockPositions);
  for_each_piece(s, most, [&](const ConvBlock<T>& piece, std::int64_t first) {
    for_each_filter_block(fns, s.block_vectors, s.filters, LastBlock::overlaps,
                          [&](const FilterBlock& block) {
                            multiply(block, copy_biases(s, block, fns.lanes, memory), piece, first);
                          });
    finished(first, piece.line_count * piece.width);
  });
}

}  // namespace scanloom::kernels
