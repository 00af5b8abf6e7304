// Calls of matrix factorisations and solves: which matrices along the leading axes, which triangle,
// in which order, and what is a fault. The caller passes the arithmetic on one matrix
// (`Algorithms`): plain loops for the reference kernels, blocks and vectors for the fast ones. Both
// compute every element by the same operations in the same order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "tensor/call.h"
#include "tensor/for_each.h"
#include "tensor/paced_poll.h"
#include "tensor/shape.h"

namespace scanloom::tensor {

/// Element access to a matrix in place; strides may be negative.
template <class Real>
struct MatrixView {
  Real* data = nullptr;
  std::int64_t row = 0, column = 0;
  [[nodiscard]] Real* address(std::int64_t i, std::int64_t k) const {
    return data + i * row + k * column;
  }
  [[nodiscard]] Real& at(std::int64_t i, std::int64_t k) const { return *address(i, k); }
};

/// A triangular matrix in solving order: viewed as a lower one whose first row belongs to the first
/// unknown.
template <class Real>
struct Triangle {
  MatrixView<const Real> elements;
  std::int64_t size = 0;
  bool unit = false;  ///< the diagonal is taken as 1 and not read
};

/// Rows and columns of the unknowns, which overwrite the right-hand sides.
template <class Real>
struct Unknowns {
  MatrixView<Real> elements;
  std::int64_t columns = 0;
};

/// Offsets of the matrices along the leading axes of some operands.
template <std::size_t kOperands>
class Batch {
 public:
  /// `axes`: how many of the last axes of each operand make up one matrix. The sizes are those of
  /// `result`, to which the others are broadcast.
  Batch(const Operand& result, const std::array<const Operand*, kOperands>& operands,
        const std::array<int, kOperands>& axes)
      : dims_(std::span(result.dims, static_cast<std::size_t>(result.rank - axes[0]))),
        count_(dims_.elements()) {
    for (std::size_t i = 0; i < kOperands; ++i) {
      const auto leading = static_cast<std::size_t>(operands[i]->rank - axes[i]);
      strides_[i] = broadcast_strides({operands[i]->dims, leading}, {operands[i]->strides, leading},
                                      dims_.dims());
    }
  }

  [[nodiscard]] std::int64_t count() const { return count_; }
  /// For each operand, the offset of its matrix with this number.
  [[nodiscard]] std::array<std::int64_t, kOperands> offsets(std::int64_t number) const {
    std::array<std::int64_t, kOperands> at{};
    for (int axis = dims_.rank() - 1; axis >= 0 && number > 0; --axis) {
      const std::int64_t index = number % dims_[axis];
      number /= dims_[axis];
      for (std::size_t i = 0; i < kOperands; ++i) at[i] += index * strides_[i][axis];
    }
    return at;
  }

 private:
  Shape dims_;
  std::int64_t count_;
  std::array<Shape, kOperands> strides_;
};

template <class T>
MatrixView<T> matrix_of(const Operand& x, std::int64_t offset) {
  return {x.data<T>() + offset, x.strides[x.rank - 2], x.strides[x.rank - 1]};
}

template <class Real>
void copy_matrix(MatrixView<const Real> from, MatrixView<Real> to, std::int64_t rows,
                 std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k) to.at(i, k) = from.at(i, k);
}

/// lu, pivots = lu_factor(x). Algorithms: lu(matrix, size, pivots, pivot_step, poll), which returns
/// early if the poll stops it.
template <class Real, class Algorithms>
Status run_lu_factor(const Call& call, const Algorithms& algorithms) {
  const Operand &x = call.in(0), &lu = call.out(0), &pivots = call.out(1);
  const std::int64_t size = lu.dims[lu.rank - 1];
  if (lu.empty()) return Status::ok;
  const Batch<3> batch(lu, {&lu, &x, &pivots}, {2, 2, 1});
  PacedPoll poll(call);
  for (std::int64_t number = 0; number < batch.count(); ++number) {
    const auto at = batch.offsets(number);
    const auto matrix = matrix_of<Real>(lu, at[0]);
    if (poll.stops(size * size)) break;
    copy_matrix(matrix_of<const Real>(x, at[1]), matrix, size, size);
    algorithms.lu(matrix, size, pivots.data<std::int64_t>() + at[2],
                  pivots.strides[pivots.rank - 1], poll);
  }
  return call.ok_or_stopped();
}

/// Which triangle of a matrix defines a system, and how.
struct TriangleForm {
  bool lower = true, transposed = false, unit = false;
};

/// Solves for the unknowns, beginning with the first row (of a lower triangle, or a transposed
/// upper one) or with the last.
template <class Real, class Algorithms>
void solve_triangle(const Algorithms& algorithms, MatrixView<const Real> matrix, std::int64_t size,
                    TriangleForm form, Unknowns<Real> unknowns) {
  if (form.transposed) std::swap(matrix.row, matrix.column);
  if (form.lower == form.transposed) {
    matrix.data += (size - 1) * (matrix.row + matrix.column);
    unknowns.elements.data += (size - 1) * unknowns.elements.row;
    matrix.row = -matrix.row;
    matrix.column = -matrix.column;
    unknowns.elements.row = -unknowns.elements.row;
  }
  algorithms.forward(Triangle<Real>{matrix, size, form.unit}, unknowns);
}

/// The index of the first 0 on the diagonal; `size` if there is none.
template <class Real>
std::int64_t zero_on_diagonal(MatrixView<const Real> matrix, std::int64_t size) {
  std::int64_t i = 0;
  while (i < size && matrix.at(i, i) != 0) ++i;
  return i;
}

/// Reports a fault. The texts name the pivot, then the matrix, both counted from 0.
inline Status fail_at_pivot(const Call& call, std::int64_t count, const char* of_one,
                            const char* of_many, std::int64_t pivot, std::int64_t number,
                            double value = 0) {
  const Status status = call.fail(count == 1 ? of_one : of_many, pivot, number);
  call.fault->value = value;
  return status;
}

/// Exchanges the rows as the factorisation did, or reverts that if `undo`.
template <class Real>
void exchange_rows(Unknowns<Real> unknowns, const std::int64_t* pivots, std::int64_t pivot_step,
                   std::int64_t size, bool undo) {
  for (std::int64_t step = 0; step < size; ++step) {
    const std::int64_t i = undo ? size - 1 - step : step;
    const std::int64_t k = pivots[i * pivot_step];
    // Pivots are user input and may be out of range.
    if (k == i || k < 0 || k >= size) continue;
    for (std::int64_t j = 0; j < unknowns.columns; ++j)
      std::swap(unknowns.elements.at(i, j), unknowns.elements.at(k, j));
  }
}

/// x = lu_solve(lu, pivots, b); without b, b is the identity. Algorithms: forward(triangle,
/// unknowns).
template <class Real, class Algorithms>
Status run_lu_solve(const Call& call, bool transposed, const Algorithms& algorithms) {
  const Operand &lu = call.in(0), &pivots = call.in(1), &x = call.out(0);
  const bool inverse = !call.has(2);
  const std::int64_t size = x.dims[x.rank - 2], columns = x.dims[x.rank - 1];
  const Operand& b = inverse ? x : call.in(2);
  const Batch<4> batch(x, {&x, &lu, &pivots, &b}, {2, 2, 1, 2});
  if (size == 0) return Status::ok;
  for (std::int64_t number = 0; number < batch.count(); ++number) {
    const auto at = batch.offsets(number);
    const auto factors = matrix_of<const Real>(lu, at[1]);
    const std::int64_t zero = zero_on_diagonal(factors, size);
    if (zero < size)
      return fail_at_pivot(call, batch.count(), "the matrix is singular: its pivot {} is 0",
                           "a matrix is singular: pivot {} of matrix {} is 0", zero, number);
    const Unknowns<Real> unknowns{matrix_of<Real>(x, at[0]), columns};
    if (inverse) {
      for (std::int64_t i = 0; i < size; ++i)
        for (std::int64_t k = 0; k < size; ++k) unknowns.elements.at(i, k) = i == k ? 1 : 0;
    } else {
      copy_matrix(matrix_of<const Real>(b, at[3]), unknowns.elements, size, columns);
    }
    const std::int64_t* exchanged = pivots.data<const std::int64_t>() + at[2];
    const std::int64_t step = pivots.strides[pivots.rank - 1];
    const TriangleForm lower{true, transposed, true}, upper{false, transposed, false};
    if (!transposed) exchange_rows(unknowns, exchanged, step, size, false);
    solve_triangle(algorithms, factors, size, transposed ? upper : lower, unknowns);
    solve_triangle(algorithms, factors, size, transposed ? lower : upper, unknowns);
    if (transposed) exchange_rows(unknowns, exchanged, step, size, true);
  }
  return Status::ok;
}

/// x = triangular_solve(a, b). Algorithms: forward(triangle, unknowns).
template <class Real, class Algorithms>
Status run_triangular_solve(const Call& call, TriangleForm form, const Algorithms& algorithms) {
  const Operand &a = call.in(0), &b = call.in(1), &x = call.out(0);
  const std::int64_t size = x.dims[x.rank - 2], columns = x.dims[x.rank - 1];
  const Batch<3> batch(x, {&x, &a, &b}, {2, 2, 2});
  if (size == 0) return Status::ok;
  for (std::int64_t number = 0; number < batch.count(); ++number) {
    const auto at = batch.offsets(number);
    const auto matrix = matrix_of<const Real>(a, at[1]);
    const std::int64_t zero = form.unit ? size : zero_on_diagonal(matrix, size);
    if (zero < size)
      return fail_at_pivot(
          call, batch.count(), "the triangular matrix is singular: its pivot {} is 0",
          "a triangular matrix is singular: pivot {} of matrix {} is 0", zero, number);
    const Unknowns<Real> unknowns{matrix_of<Real>(x, at[0]), columns};
    copy_matrix(matrix_of<const Real>(b, at[2]), unknowns.elements, size, columns);
    solve_triangle(algorithms, matrix, size, form, unknowns);
  }
  return Status::ok;
}

/// y = cholesky(x). Algorithms: cholesky(upper, size) computes U such that U^T U equals the matrix
/// given by the upper triangle, in place; the other triangle is 0. It returns `size`, or the index
/// of the pivot that is not positive, whose value it leaves on the diagonal.
template <class Real, class Algorithms>
Status run_cholesky(const Call& call, bool lower, const Algorithms& algorithms) {
  const Operand &x = call.in(0), &y = call.out(0);
  const std::int64_t size = y.dims[y.rank - 1];
  if (y.empty()) return Status::ok;
  const Batch<2> batch(y, {&y, &x}, {2, 2});
  for (std::int64_t number = 0; number < batch.count(); ++number) {
    const auto at = batch.offsets(number);
    MatrixView<const Real> from = matrix_of<const Real>(x, at[1]);
    if (lower) std::swap(from.row, from.column);
    const MatrixView<Real> to = matrix_of<Real>(y, at[0]);
    for (std::int64_t i = 0; i < size; ++i)
      for (std::int64_t k = 0; k < size; ++k) to.at(i, k) = k < i ? Real{0} : from.at(i, k);
    const std::int64_t bad = algorithms.cholesky(to, size);
    if (bad < size)
      return fail_at_pivot(call, batch.count(),
                           "the matrix is not positive definite: its pivot {} is {value}",
                           "a matrix is not positive definite: pivot {} of matrix {} is {value}",
                           bad, number, static_cast<double>(to.at(bad, bad)));
    for (std::int64_t i = 0; lower && i < size; ++i)
      for (std::int64_t k = i + 1; k < size; ++k) {
        to.at(k, i) = to.at(i, k);
        to.at(i, k) = 0;
      }
  }
  return Status::ok;
}

}  // namespace scanloom::tensor
