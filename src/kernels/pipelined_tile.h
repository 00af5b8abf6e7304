// A pipelined input projection. A product of one row waits for its weights; a product of many rows
// is limited by arithmetic. A recurrent layer has one of each: the state's product and the inputs'.
// So while the state's weights stream in, the tiles of the inputs' product for some steps ahead are
// computed: part of a tile with each block of columns. Every element is a sum over k in order
// (product.h), whenever it is computed.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// Rows computed ahead: the rows of one chunk of steps are computed during the previous chunk.
inline constexpr std::int64_t kRowsAhead = 16;

/// Panels of a product of kRowsAhead rows, computed in parts along with another product's blocks.
/// The other product has one row and blocks of two panels. It runs kRowsAhead times (rounds), after
/// which this one is complete.
template <class T>
struct PipelinedProduct {
  const T* a = nullptr;    ///< null: nothing is computed. The elements of a row are adjacent
  std::int64_t a_row = 0;  ///< distance between rows
  const T* b = nullptr;    ///< packed (product.h)
  std::int64_t k = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  const T* bias = nullptr;  ///< per column, added last
  std::int64_t panels = 0;
  std::int64_t round = 0;
};

/// The part of the product that blocks [first, last) of `count` compute.
template <class T>
PipelinedProduct<T> share_pipelined(PipelinedProduct<T> whole, std::int64_t panel,
                                    std::int64_t first, std::int64_t last, std::int64_t count) {
  const std::int64_t from = whole.panels * first / count, to = whole.panels * last / count;
  whole.b += from * panel * whole.k;
  whole.c += from * panel;
  if (whole.bias != nullptr) whole.bias += from * panel;
  whole.panels = to - from;
  return whole;
}

/// Block `index` of the `count` blocks of a one-row product, in the order of computation: two
/// panels, k elements deep.
template <class T>
struct RowBlock {
  const T* a = nullptr;
  const T* b = nullptr;
  std::int64_t k = 0;
  T* c = nullptr;
  std::int64_t index = 0, count = 0;
  std::int64_t step = 1;  ///< -1: the next block precedes this one in b and c
};

}  // namespace scanloom::kernels
