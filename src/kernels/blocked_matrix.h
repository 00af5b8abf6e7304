// Blocked factorizations and triangular solves, shared by the matrix kernels. Products of blocks
// go through one vector function (kernels/elimination.h). The columns of matrices that are written
// must be adjacent. Nothing is allocated.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>

#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "opmath/matrix_calls.h"
#include "opmath/plain_matrix.h"
#include "tensor/paced_poll.h"

namespace scanloom::kernels {

/// Rows and columns of a block. Its rows of f64 fit in the L1 cache up to 256 columns.
inline constexpr std::int64_t kMatrixBlock = 16;

/// Up to these sizes plain loops beat calls of vector functions: for factorizations, for solves
/// with several right-hand sides, and for solves with one (whose vectors would hold one element).
inline constexpr std::int64_t kSmallFactors = 8;
inline constexpr std::int64_t kSmallTriangle = 4;
inline constexpr std::int64_t kSmallTriangleOfOne = 64;

/// The interface that opmath/matrix_calls.h expects.
template <class T>
class BlockedMatrix {
 public:
  explicit BlockedMatrix(EliminateFn<T> eliminate) : eliminate_(eliminate) {}

  void lu(tensor::MatrixView<T> m, std::int64_t size, std::int64_t* pivots, std::int64_t pivot_step,
          tensor::PacedPoll& poll) const {
    if (size <= kSmallFactors)
      return tensor::PlainMatrix<T>{}.lu(m, size, pivots, pivot_step, poll);
    for (std::int64_t begin = 0; begin < size; begin += kMatrixBlock) {
      const std::int64_t end = std::min(begin + kMatrixBlock, size);
      if (poll.stops((size - begin) * (size - begin))) return;
      factor_columns(m, size, begin, end, pivots, pivot_step);
      // The rows of U to the right of the block, and their product subtracted from the rest.
      for (std::int64_t i = begin + 1; i < end; ++i)
        eliminate_({.rows = 1,
                    .columns = size - end,
                    .depth = i - begin,
                    .c = m.address(i, end),
                    .c_row = m.row,
                    .f = m.address(i, begin),
                    .f_row = m.row,
                    .f_step = 1,
                    .b = m.address(begin, end),
                    .b_step = m.row});
      eliminate_({.rows = size - end,
                  .columns = size - end,
                  .depth = end - begin,
                  .c = m.address(end, end),
                  .c_row = m.row,
                  .f = m.address(end, begin),
                  .f_row = m.row,
                  .f_step = 1,
                  .b = m.address(begin, end),
                  .b_step = m.row});
    }
  }

  [[nodiscard]] std::int64_t cholesky(tensor::MatrixView<T> m, std::int64_t size) const {
    if (size <= kSmallFactors) return tensor::PlainMatrix<T>{}.cholesky(m, size);
    for (std::int64_t begin = 0; begin < size; begin += kMatrixBlock) {
      const std::int64_t end = std::min(begin + kMatrixBlock, size);
      for (std::int64_t i = begin; i < end; ++i) {
        eliminate_({.rows = 1,
                    .columns = size - i,
                    .depth = i - begin,
                    .c = m.address(i, i),
                    .c_row = m.row,
                    .f = m.address(begin, i),
                    .f_row = 1,
                    .f_step = m.row,
                    .b = m.address(begin, i),
                    .b_step = m.row});
        const T pivot = m.at(i, i);
        if (!(pivot > 0)) return i;
        const T root = std::sqrt(pivot);
        m.at(i, i) = root;
        divide(m.address(i, i + 1), size - i - 1, root);
      }
      // Updates the rest's upper triangle; blocks on the diagonal get more, which is zeroed again.
      for (std::int64_t row = end; row < size; row += kMatrixBlock) {
        const std::int64_t rows = std::min(kMatrixBlock, size - row);
        eliminate_({.rows = rows,
                    .columns = size - row,
                    .depth = end - begin,
                    .c = m.address(row, row),
                    .c_row = m.row,
                    .f = m.address(begin, row),
                    .f_row = 1,
                    .f_step = m.row,
                    .b = m.address(begin, row),
                    .b_step = m.row});
      }
    }
    for (std::int64_t i = 1; i < size; ++i)
      for (std::int64_t k = i - i % kMatrixBlock; k < i; ++k) m.at(i, k) = 0;
    return size;
  }

  void forward(tensor::Triangle<T> t, tensor::Unknowns<T> x) const {
    if (t.size <= (x.columns == 1 ? kSmallTriangleOfOne : kSmallTriangle))
      return tensor::PlainMatrix<T>{}.forward(t, x);
    const tensor::MatrixView<const T>& a = t.elements;
    const tensor::MatrixView<T>& to = x.elements;
    for (std::int64_t begin = 0; begin < t.size; begin += kMatrixBlock) {
      const std::int64_t end = std::min(begin + kMatrixBlock, t.size);
      for (std::int64_t i = begin; i < end; ++i) {
        eliminate_({.rows = 1,
                    .columns = x.columns,
                    .depth = i - begin,
                    .c = to.address(i, 0),
                    .c_row = to.row,
                    .f = a.address(i, begin),
                    .f_row = a.row,
                    .f_step = a.column,
                    .b = to.address(begin, 0),
                    .b_step = to.row});
        if (!t.unit) divide(to.address(i, 0), x.columns, a.at(i, i));
      }
      eliminate_({.rows = t.size - end,
                  .columns = x.columns,
                  .depth = end - begin,
                  .c = to.address(end, 0),
                  .c_row = to.row,
                  .f = a.address(end, begin),
                  .f_row = a.row,
                  .f_step = a.column,
                  .b = to.address(begin, 0),
                  .b_step = to.row});
    }
  }

 private:
  static void divide(T* first, std::int64_t count, T by) {
    for (std::int64_t i = 0; i < count; ++i) first[i] /= by;
  }

  /// Factors the columns [begin, end) from row `begin` on; exchanges whole rows.
  void factor_columns(tensor::MatrixView<T> m, std::int64_t size, std::int64_t begin,
                      std::int64_t end, std::int64_t* pivots, std::int64_t pivot_step) const {
    for (std::int64_t k = begin; k < end; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i < size; ++i)
        if (std::fabs(m.at(i, k)) > std::fabs(m.at(pivot, k))) pivot = i;
      pivots[k * pivot_step] = pivot;
      if (pivot != k)
        std::swap_ranges(m.address(k, 0), m.address(k, 0) + size, m.address(pivot, 0));
      const T value = m.at(k, k);
      for (std::int64_t i = k + 1; value != 0 && i < size; ++i) m.at(i, k) /= value;
      eliminate_({.rows = size - k - 1,
                  .columns = end - k - 1,
                  .depth = 1,
                  .c = m.address(k + 1, k + 1),
                  .c_row = m.row,
                  .f = m.address(k + 1, k),
                  .f_row = m.row,
                  .f_step = 1,
                  .b = m.address(k, k + 1),
                  .b_step = m.row});
    }
  }

  EliminateFn<T> eliminate_;
};

/// The vector functions that a prepared kernel uses.
struct MatrixFns {
  EliminateFn<float> f32;
  EliminateFn<double> f64;
};

/// Declines if the columns of `result` are not adjacent.
inline Prepared prepare_matrices(const PrepareCtx& ctx) {
  const tensor::Operand& result = ctx.outputs[0];
  if (result.strides[result.rank - 1] != 1 && result.dims[result.rank - 1] > 1)
    return Prepared::no("columns of the result that are not adjacent in memory");
  const SimdTables& tables = simd_tables(ctx.isa);
  return {.state = std::make_shared<MatrixFns>(tables.f32_eliminate, tables.f64_eliminate)};
}

/// Calls f with the BlockedMatrix of the call's element type.
template <class F>
tensor::Status with_blocks(const tensor::Call& call, F&& f) {
  const auto& fns = *static_cast<const MatrixFns*>(call.prepared);
  if (call.out(0).dtype == DType::f32) return f(BlockedMatrix<float>(fns.f32));
  return f(BlockedMatrix<double>(fns.f64));
}

}  // namespace scanloom::kernels
