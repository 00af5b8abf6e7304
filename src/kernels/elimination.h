// The one step of all factorisations of matrices and solutions of triangular systems: a product is
// subtracted, product by product in order of k, each multiplied and then subtracted with two
// roundings on every instruction set. Blocks and vectors do not change that order, so the results
// are those of the plain loops (opmath/plain_matrix.h), bit for bit.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// c(i, j) -= f(i, 0) b(0, j), then f(i, 1) b(1, j), ...; strides in elements, any sign; columns of
/// b and c are neighbours. c overlaps neither f nor b.
template <class T>
struct Elimination {
  std::int64_t rows = 0, columns = 0, depth = 0;
  T* c = nullptr;
  std::int64_t c_row = 0;
  const T* f = nullptr;
  std::int64_t f_row = 0, f_step = 0;
  const T* b = nullptr;
  std::int64_t b_step = 0;
};

template <class T>
using EliminateFn = void (*)(const Elimination<T>&);

}  // namespace scanloom::kernels
