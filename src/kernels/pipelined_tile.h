// A product of one row waits for its weights, a product of many rows for the arithmetic units. A
// recurrent layer has one of either: what its state is multiplied by, and what its input is. So the
// tiles of the inputs' product for some steps ahead are made beside the stream of the weights that
// the state meets: a part of a tile beside each block of columns. Elements are sums over k in order
// (product.h), whatever they are made beside.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// Rows that are made ahead: the steps of one chunk, beside the steps of the chunk before.
inline constexpr std::int64_t kRowsAhead = 16;

/// Panels of a product of kRowsAhead rows, of which block after block of another product makes a
/// part. The other has one row, blocks of two panels, and comes kRowsAhead times, in rounds: then
/// this one is done.
template <class T>
struct PipelinedProduct {
  const T* a = nullptr;    ///< null: nothing is made. Elements of a row are neighbours
  std::int64_t a_row = 0;  ///< from one row to the next
  const T* b = nullptr;    ///< packed (product.h)
  std::int64_t k = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  const T* bias = nullptr;  ///< per column, added last
  std::int64_t panels = 0;
  std::int64_t round = 0;
};

/// The part of it that blocks [first, last) of `count` are to make.
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

/// Block `index` of the `count` of a row's product, in the order in which they are made: two
/// panels, k elements deep.
template <class T>
struct RowBlock {
  const T* a = nullptr;
  const T* b = nullptr;
  std::int64_t k = 0;
  T* c = nullptr;
  std::int64_t index = 0, count = 0;
  std::int64_t step = 1;  ///< -1: the next to be made is the one before it in b and c
};

}  // namespace scanloom::kernels
