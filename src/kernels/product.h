// Matrix products C = A B: register tiles per instruction set and the loops around them. Every
// element is a sum over k in order, so the result does not depend on tiles, blocks or threads. Used
// by contract, conv and lstm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/stop_token.h"

namespace scanloom::kernels {

/// A strip of rows of C = A B; strides count elements. Column j of B begins at
/// b + (j / panel) * b_panel + (j % panel); rows of B are b_step apart.
template <class T>
struct Strip {
  std::int64_t columns = 0, k = 0;
  const T* a = nullptr;
  std::int64_t a_row = 0, a_step = 0;
  const T* b = nullptr;
  std::int64_t b_step = 0, b_panel = 0;
  bool padded = false;  ///< b holds whole panels, so that reads may run past the last column
  bool resume = false;  ///< continues from the values in C instead of 0
  T* c = nullptr;
  std::int64_t c_row = 0, c_column = 1;
  const T* bias = nullptr;  ///< per column, added last; padded like b
  bool backwards = false;   ///< from the last column to the first
  /// Memory to fetch into the L2 cache meanwhile, so many lines for every kFetchStep of k, up to
  /// about its end. Only strips of one panel and of at least kMinFetchingRows do so, if a_step
  /// is 1.
  const std::byte* ahead = nullptr;
  const std::byte* ahead_end = nullptr;
  std::int64_t ahead_lines = 0;
};

inline constexpr std::int64_t kFetchStep = 4, kMinFetchingRows = 5;
inline constexpr std::int64_t kCacheLine = 64;  // bytes

/// Whether a strip over these weights goes backwards: every other time on a thread. It then begins
/// with what the last pass left in the cache instead of evicting it before reaching it.
bool goes_backwards(const void* weights, std::int64_t bytes);

inline constexpr int kMaxStripRows = 12;

/// Work (multiply-adds) below which another thread costs more than it gains. The bound is lower for
/// a single row, which is limited by memory.
inline constexpr std::int64_t kMinThreadWork = 200'000, kMinThreadWorkOfRow = 100'000;

/// The functions of one instruction set.
template <class T>
struct ProductFns {
  int rows = 0;            ///< of the tallest strip
  std::int64_t panel = 0;  ///< columns of a panel
  /// Indexed by the strip's rows - 1; null from `rows` on.
  void (*strip[kMaxStripRows])(const Strip<T>&) = {};
  /// Turns four rows of k adjacent elements into columns: to[i * panel + j] = from[j * row + i].
  void (*transpose4)(const T* from, std::int64_t row, std::int64_t k, std::int64_t panel,
                     T* to) = nullptr;
};

/// Multiplies m rows in strips of nearly equal height, beginning with strip `first`: a few rows at
/// the end would take as long as many. Each strip continues fetching where the last one stopped.
template <class T>
void multiply_strips(const ProductFns<T>& fns, Strip<T> first, std::int64_t m);

/// The layout of B: element (i, j) is data[i * step + j * column].
template <class T>
struct MatrixB {
  const T* data = nullptr;
  std::int64_t k = 0, n = 0;
  std::int64_t step = 0, column = 0;
};

/// Elements that pack() writes: whole panels.
template <class T>
std::int64_t packed_elements(const ProductFns<T>& fns, std::int64_t k, std::int64_t n) {
  return (n + fns.panel - 1) / fns.panel * fns.panel * k;
}

/// Writes B as panels one after another, each k rows of `panel` columns; missing columns are 0. B
/// may be stored at any address (kernels/any_address.h).
template <class T>
void pack(const ProductFns<T>& fns, const MatrixB<T>& b, T* to, int max_threads);

/// Packs a constant B on one thread, in the order in which it is stored. Pages of a file are given
/// back as soon as they have been read, so that they and their copy do not take memory together.
template <class T>
void pack_constant(const ProductFns<T>& fns, const MatrixB<T>& b, T* to);

/// C = A B. `packed`: B as pack() writes it, or null if B is read in place (b.column must be 1).
template <class T>
struct Product {
  std::int64_t m = 0;
  const T* a = nullptr;
  std::int64_t a_row = 0, a_step = 0;
  MatrixB<T> b;
  const T* packed = nullptr;
  bool packed_once = false;  ///< long ago, so that it is probably in no cache
  T* c = nullptr;
  std::int64_t c_row = 0, c_column = 1;
  bool resume = false;
  const T* bias = nullptr;            ///< padded to whole panels
  tensor::StopToken* stop = nullptr;  ///< polled during long products
};

template <class T>
void multiply(const ProductFns<T>& fns, const Product<T>& product, int max_threads);

}  // namespace scanloom::kernels
