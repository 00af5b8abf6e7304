#include "kernels/scaled_product.h"

#include "kernels/scaled_numbers.h"

namespace scanloom::kernels {
namespace {

/// A matrix of rows of k elements; `along` elements from one to the next.
template <class T>
struct Rows {
  const T* data = nullptr;
  std::int64_t rows = 0, k = 0, row = 0, along = 0;
};

template <class T, class F>
void for_each_element(const Rows<T>& matrix, F&& f) {
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    const T* const from = matrix.data + r * matrix.row;
    if (matrix.along == 1)
      for (std::int64_t i = 0; i < matrix.k; ++i) f(from[i]);
    else
      for (std::int64_t i = 0; i < matrix.k; ++i) f(from[i * matrix.along]);
  }
}

template <class T>
Exponents<T> exponents_of(const Rows<T>& matrix) {
  Exponents<T> found;
  for_each_element(matrix, [&](T element) { found.add(element); });
  return found;
}

template <class T>
void copy_scaled(const Rows<T>& matrix, bool grows, T* to) {
  if (grows)
    for_each_element(matrix, [&](T element) { *to++ = grown(element); });
  else
    for_each_element(matrix, [&](T element) { *to++ = shrunk(element); });
}

}  // namespace

template <class T>
bool multiply_scaled(const ProductFns<T>& fns, const Product<T>& product) {
  constexpr std::int64_t kMaxElements = kMaxScaledBytes / static_cast<std::int64_t>(sizeof(T));
  const MatrixB<T>& matrix = product.b;
  const Rows<T> a{product.a, product.m, matrix.k, product.a_row, product.a_step};
  const Rows<T> b{matrix.data, matrix.k, matrix.n, matrix.step, matrix.column};
  const Exponents<T> of_a = exponents_of(a), of_b = exponents_of(b);
  const bool grows_a = of_a.has_denormals() && of_a.may_grow() && of_b.may_shrink();
  const bool grows_b = of_b.has_denormals() && of_b.may_grow() && of_a.may_shrink();
  if (!grows_a && !grows_b) return false;
  alignas(64) T memory[kMaxElements];
  T* const copy_of_b = memory + product.m * matrix.k;
  copy_scaled(a, grows_a, memory);
  copy_scaled(b, grows_b, copy_of_b);
  Product<T> scaled = product;
  scaled.a = memory;
  scaled.a_row = matrix.k;
  scaled.a_step = 1;
  scaled.b = {copy_of_b, matrix.k, matrix.n, matrix.n, 1};
  multiply(fns, scaled, 1);
  return true;
}

template bool multiply_scaled(const ProductFns<float>&, const Product<float>&);
template bool multiply_scaled(const ProductFns<double>&, const Product<double>&);

}  // namespace scanloom::kernels
