// Packs the matrix B of products into panels.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "kernels/any_address.h"
#include "kernels/product.h"

namespace scanloom::kernels {
namespace {

// This many rows of a panel stay in the L1 cache while its columns are written, a few at a time.
constexpr std::int64_t kPackedRows = 128;
// Rows of B that are read before the next ones, if its rows are adjacent elements.
constexpr std::int64_t kStoredRows = 64;
// Columns that are written at a time, if these are adjacent elements.
constexpr std::int64_t kColumnsAtOnce = 4;

/// Rows [first, first + count) of B.
template <class T>
MatrixB<T> row_range(MatrixB<T> b, std::int64_t first, std::int64_t count) {
  b.data += first * b.step;
  b.k = count;
  return b;
}

/// Columns [first, first + count) of B.
template <class T>
MatrixB<T> column_range(MatrixB<T> b, std::int64_t first, std::int64_t count) {
  b.data += first * b.column;
  b.n = count;
  return b;
}

template <class T>
void copy_rows(const MatrixB<T>& b, std::int64_t panel, T* to) {
  for (std::int64_t i = 0; i < b.k; ++i)
    std::memcpy(to + i * panel, static_cast<const void*>(b.data + i * b.step),
                static_cast<std::size_t>(b.n) * sizeof(T));
}

template <class T>
void copy_elements(const MatrixB<T>& b, std::int64_t panel, T* to) {
  for (std::int64_t i = 0; i < b.k; ++i)
    for (std::int64_t j = 0; j < b.n; ++j)
      to[i * panel + j] = element_at(b.data, i * b.step + j * b.column);
}

/// Packs columns of adjacent elements, of at most kPackedRows rows.
template <class T>
void copy_columns(const ProductFns<T>& fns, const MatrixB<T>& b, T* to) {
  std::int64_t j = 0;
  for (; j + kColumnsAtOnce <= b.n; j += kColumnsAtOnce) {
    const T* const from = b.data + j * b.column;
    if (is_aligned(from)) {
      fns.transpose4(from, b.column, b.k, fns.panel, to + j);
      continue;
    }
    std::array<T, kColumnsAtOnce * kPackedRows> aligned;
    for (std::int64_t i = 0; i < kColumnsAtOnce; ++i)
      std::memcpy(aligned.data() + i * kPackedRows, static_cast<const void*>(from + i * b.column),
                  static_cast<std::size_t>(b.k) * sizeof(T));
    fns.transpose4(aligned.data(), kPackedRows, b.k, fns.panel, to + j);
  }
  if (j < b.n) copy_elements(column_range(b, j, b.n - j), fns.panel, to + j);
}

/// Packs a B of at most one panel.
template <class T>
void pack_panel(const ProductFns<T>& fns, const MatrixB<T>& b, T* to) {
  if (b.column == 1) {
    copy_rows(b, fns.panel, to);
  } else if (b.step == 1) {
    for (std::int64_t row = 0; row < b.k; row += kPackedRows)
      copy_columns(fns, row_range(b, row, std::min(kPackedRows, b.k - row)), to + row * fns.panel);
  } else {
    copy_elements(b, fns.panel, to);
  }
  if (b.n < fns.panel)
    for (std::int64_t i = 0; i < b.k; ++i)
      std::fill(to + i * fns.panel + b.n, to + (i + 1) * fns.panel, T{0});
}

}  // namespace

template <class T>
void pack(const ProductFns<T>& fns, const MatrixB<T>& b, T* to, int max_threads) {
  const std::int64_t panels = (b.n + fns.panel - 1) / fns.panel;
  const auto pack_one = [&](std::int64_t index) {
    const std::int64_t first = index * fns.panel;
    pack_panel(fns, column_range(b, first, std::min(fns.panel, b.n - first)), to + first * b.k);
  };
  const bool threads = max_threads > 1 && b.k * b.n > kMinThreadWork;
  if (threads) return parallel_for(panels, max_threads, pack_one);
  for (std::int64_t index = 0; index < panels; ++index) pack_one(index);
}

template <class T>
void pack_constant(const ProductFns<T>& fns, const MatrixB<T>& b, T* to) {
  const bool by_rows = b.column == 1 && b.step >= b.n;
  const bool by_columns = b.step == 1 && b.column >= b.k;
  // Pages between the parts of a matrix may hold other matrices, which are read next.
  const std::int64_t span = (b.k - 1) * b.step + (b.n - 1) * b.column + 1;
  if (!(by_rows || by_columns) || span > 2 * b.k * b.n) return pack(fns, b, to, 1);
  FilePagesRead pages(b.data);
  const std::int64_t rows = by_rows ? kStoredRows : b.k;
  for (std::int64_t row = 0; row < b.k; row += rows) {
    const MatrixB<T> block = row_range(b, row, std::min(rows, b.k - row));
    for (std::int64_t first = 0; first < b.n; first += fns.panel) {
      const MatrixB<T> part = column_range(block, first, std::min(fns.panel, b.n - first));
      pack_panel(fns, part, to + first * b.k + row * fns.panel);
      if (by_columns) pages.up_to(part.data + part.n * part.column);
    }
    if (by_rows) pages.up_to(block.data + block.k * block.step);
  }
}

template void pack(const ProductFns<float>&, const MatrixB<float>&, float*, int);
template void pack(const ProductFns<double>&, const MatrixB<double>&, double*, int);
template void pack(const ProductFns<std::int32_t>&, const MatrixB<std::int32_t>&, std::int32_t*,
                   int);
template void pack_constant(const ProductFns<float>&, const MatrixB<float>&, float*);
template void pack_constant(const ProductFns<double>&, const MatrixB<double>&, double*);
template void pack_constant(const ProductFns<std::int32_t>&, const MatrixB<std::int32_t>&,
                            std::int32_t*);

}  // namespace scanloom::kernels
