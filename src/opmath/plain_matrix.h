// The arithmetic on one matrix in plain loops: used by the reference kernels, and fastest for small
// matrices. All kernels add up the products of an element in the same order.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>

#include "opmath/matrix_calls.h"
#include "tensor/paced_poll.h"

namespace scanloom::tensor {

/// The Algorithms of matrix_calls.h.
template <class Real>
struct PlainMatrix {
  void lu(MatrixView<Real> m, std::int64_t size, std::int64_t* pivots, std::int64_t pivot_step,
          PacedPoll& poll) const {
    for (std::int64_t k = 0; k < size; ++k) {
      std::int64_t pivot = k;
      for (std::int64_t i = k + 1; i < size; ++i)
        if (std::fabs(m.at(i, k)) > std::fabs(m.at(pivot, k))) pivot = i;
      pivots[k * pivot_step] = pivot;
      for (std::int64_t j = 0; pivot != k && j < size; ++j) std::swap(m.at(k, j), m.at(pivot, j));
      for (std::int64_t i = k + 1; i < size; ++i) {
        if (poll.stops(size - k)) return;
        if (m.at(k, k) != 0) m.at(i, k) /= m.at(k, k);
        for (std::int64_t j = k + 1; j < size; ++j) m.at(i, j) -= m.at(i, k) * m.at(k, j);
      }
    }
  }

  [[nodiscard]] std::int64_t cholesky(MatrixView<Real> m, std::int64_t size) const {
    for (std::int64_t k = 0; k < size; ++k) {
      if (!(m.at(k, k) > 0)) return k;
      m.at(k, k) = std::sqrt(m.at(k, k));
      for (std::int64_t j = k + 1; j < size; ++j) m.at(k, j) /= m.at(k, k);
      for (std::int64_t i = k + 1; i < size; ++i)
        for (std::int64_t j = i; j < size; ++j) m.at(i, j) -= m.at(k, i) * m.at(k, j);
    }
    return size;
  }

  void forward(Triangle<Real> t, Unknowns<Real> x) const {
    for (std::int64_t i = 0; i < t.size; ++i)
      for (std::int64_t j = 0; j < x.columns; ++j) {
        Real value = x.elements.at(i, j);
        for (std::int64_t k = 0; k < i; ++k) value -= t.elements.at(i, k) * x.elements.at(k, j);
        x.elements.at(i, j) = t.unit ? value : value / t.elements.at(i, i);
      }
  }
};

}  // namespace scanloom::tensor
