// The one step of all matrix factorizations and triangular solves: subtracts a product, term by
// term in order of k. Each term is multiplied and then subtracted, with two roundings, on every
// instruction set. Blocks and vectors keep that order, so the results match the plain loops
// (opmath/plain_matrix.h) bit for bit.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// Computes c(i, j) -= f(i, 0) b(0, j), then f(i, 1) b(1, j), ... Strides count elements and may be
/// negative. The columns of b and c are adjacent. c overlaps neither f nor b.
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
