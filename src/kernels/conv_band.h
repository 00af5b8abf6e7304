// The vector functions of convolutions that read padded planes (conv_planes.cpp).
#pragma once

#include <cstdint>

#include "base/cpu.h"
#include "kernels/isa_tables.h"

namespace scanloom::kernels {

/// A line of the result: its first position, and its offset in the result.
struct ConvLine {
  std::int64_t start = 0, to = 0;
};

/// Lines of the result of all filters of a group, from planes that hold the padded input.
///
/// Positions of the result are numbered along the planes, so that tap k of the window at position p
/// is planes[p + taps[k]]. A line is `width` positions from its start; what stands between lines is
/// computed where that is simpler, and never stored. Every element is the sum over k in order of
/// multiply-adds (base/dot.h) from 0; the bias is added last.
template <class T>
struct ConvBand {
  /// Up to kConvSlack elements after the last tap of the last position may be read.
  const T* planes = nullptr;
  const std::int64_t* taps = nullptr;
  std::int64_t k = 0;
  const T* weights = nullptr;  ///< k adjacent elements per filter
  std::int64_t w_filter = 0, filters = 0;
  const ConvLine* lines = nullptr;  ///< ascending
  std::int64_t line_count = 0, width = 0;
  T* y = nullptr;
  std::int64_t y_filter = 0;
  const T* bias = nullptr;  ///< per filter, or null
  std::int64_t bias_step = 0;
  /// Walks all positions for some filters before the next filters, rather than the reverse: what is
  /// walked more often should be what stays in the cache.
  bool filters_outside = false;
  /// Elements from a position of a line to the next, in the planes and in y: other than 1 only for
  /// blocks of filters (conv_blocks_run.h).
  std::int64_t step = 1, y_step = 1;
  bool fetches = false, single = false;   ///< see ConvBlock
  std::int64_t block_vectors = 0;         ///< of most blocks of filters
  std::int64_t window = 1, tap_step = 0;  ///< see ConvBlock
};

/// The widest tile: eight vectors of 16 elements.
inline constexpr std::int64_t kConvSlack = 128;

/// Rows of planes from rows of x. Element i of a row of x belongs to phase (before + i) % step,
/// where it is element (before + i) / step; the other elements of the planes' rows are 0. With a
/// single phase, up to kConvSlack elements after each row may become 0 before the next row follows.
template <class T>
struct ConvFill {
  const T* x = nullptr;  ///< elements of a row are adjacent
  std::int64_t x_row = 0, rows = 0;
  std::int64_t before = 0, count = 0, step = 1;
  T* to = nullptr;
  std::int64_t phase = 0;  ///< elements from one phase to the next
  std::int64_t size = 0;   ///< of a row of a plane; at least (before + count) / step, rounded up
};

/// Element i of phase p becomes element i * step + p of the result, which has `count` elements.
template <class T>
struct ConvInterleave {
  const T* from = nullptr;
  std::int64_t phase = 0;  ///< elements from one phase to the next
  std::int64_t step = 1, count = 0;
  T* to = nullptr;
};

template <class T>
struct ConvFns {
  void (*band)(const ConvBand<T>&) = nullptr;
  /// As `band`, for filters with two rows of weights whose results alternate: element i of a line
  /// becomes results 2 i and 2 i + 1. Offsets of lines in the result count pairs.
  void (*pairs)(const ConvBand<T>&) = nullptr;
  void (*fill)(const ConvFill<T>&) = nullptr;
  void (*interleave)(const ConvInterleave<T>&) = nullptr;
};

/// The functions of one instruction set.
struct ConvTables {
  ConvFns<float> f32;
  ConvFns<double> f64;
};

/// The table that `isa` permits.
const ConvTables& conv_tables(Isa isa);

/// The functions for elements of type T.
template <class T>
const ConvFns<T>& conv_fns(Isa isa) {
  return functions_for<T>(conv_tables(isa));
}

}  // namespace scanloom::kernels
