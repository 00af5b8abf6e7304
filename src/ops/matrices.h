// What the operators on square matrices share: their rules of sizes, and the arithmetic of the
// reference kernels, element by element.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/op_def.h"
#include "tensor/matrix_calls.h"

namespace scanloom::ops {

/// Error: input i holds no f32 or f64, or has fewer axes than two, or the last two are known to
/// differ.
Expected<void> check_square(ir::InferCtx& ctx, int i, std::string_view what);

/// Error: input `pivots` holds no i64, or has other sizes than the rows of input `lu` are known to
/// have. Precondition: check_square has passed for `lu`.
Expected<void> check_pivots(ir::InferCtx& ctx, int lu, int pivots);

/// The sizes of the solutions for right sides `b` of systems of square matrices `a`, broadcast
/// along the leading axes. Precondition: check_square has passed. Error: sizes that do not fit.
Expected<void> set_solutions(ir::InferCtx& ctx, int a, int b);

/// What tensor/matrix_calls.h asks of one matrix, in plain loops.
template <class Real>
struct PlainMatrix {
  void lu(tensor::MatrixView<Real> m, std::int64_t size, std::int64_t* pivots,
          std::int64_t pivot_step) const {
    for (std::int64_t k = 0; k < size; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i < size; ++i)
        if (std::fabs(m.at(i, k)) > std::fabs(m.at(pivot, k))) pivot = i;
      pivots[k * pivot_step] = pivot;
      for (std::int64_t j = 0; pivot != k && j < size; ++j) std::swap(m.at(k, j), m.at(pivot, j));
      for (std::int64_t i = k + 1; i < size; ++i) {
        if (m.at(k, k) != 0) m.at(i, k) /= m.at(k, k);
        for (std::int64_t j = k + 1; j < size; ++j) m.at(i, j) -= m.at(i, k) * m.at(k, j);
      }
    }
  }

  [[nodiscard]] std::int64_t cholesky(tensor::MatrixView<Real> m, std::int64_t size) const {
    for (std::int64_t k = 0; k < size; ++k) {
      if (!(m.at(k, k) > 0)) return k;
      m.at(k, k) = std::sqrt(m.at(k, k));
      for (std::int64_t j = k + 1; j < size; ++j) m.at(k, j) /= m.at(k, k);
      for (std::int64_t i = k + 1; i < size; ++i)
        for (std::int64_t j = i; j < size; ++j) m.at(i, j) -= m.at(k, i) * m.at(k, j);
    }
    return size;
  }

  void forward(tensor::Triangle<Real> t, tensor::Unknowns<Real> x) const {
    for (std::int64_t i = 0; i < t.size; ++i)
      for (std::int64_t j = 0; j < x.columns; ++j) {
        Real value = x.elements.at(i, j);
        for (std::int64_t k = 0; k < i; ++k) value -= t.elements.at(i, k) * x.elements.at(k, j);
        x.elements.at(i, j) = t.unit ? value : value / t.elements.at(i, i);
      }
  }
};

/// f.template operator()<float>(), or <double>: what check_square lets through.
template <class F>
tensor::Status visit_real(DType dtype, F&& f) {
  if (dtype == DType::f32) return f.template operator()<float>();
  return f.template operator()<double>();
}

}  // namespace scanloom::ops
