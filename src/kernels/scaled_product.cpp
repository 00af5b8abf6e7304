#include "kernels/scaled_product.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

namespace scanloom::kernels {
namespace {

/// The parts of a number's bits.
template <class T>
struct Bits {
  using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  using Signed = std::make_signed_t<Word>;
  static constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  static constexpr Word kSign = Word{1} << (sizeof(T) * 8 - 1);
  static constexpr Word kLowBits = (Word{1} << kMantissa) - 1;
  /// The exponent's bits of infinities and NaN, which are all set.
  static constexpr Word kInfinite = (kSign - 1) >> kMantissa;
};

/// The power of two of scaled factors: denormals become normal.
constexpr int kScale = 64;
static_assert(kScale > std::numeric_limits<float>::digits &&
              kScale > std::numeric_limits<double>::digits);

/// The exponents of a matrix as its elements have them, 0 for denormals, except those of zeros.
template <class T>
struct Exponents {
  using Word = typename Bits<T>::Word;
  Word least = Bits<T>::kInfinite, most = 0;

  [[nodiscard]] bool has_denormals() const { return least == 0; }
  [[nodiscard]] bool may_grow() const { return most < Bits<T>::kInfinite - kScale; }
  [[nodiscard]] bool may_shrink() const {
    return least > Word{kScale} && most < Bits<T>::kInfinite;
  }
};

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
  using Word = typename Bits<T>::Word;
  Exponents<T> found;
  for_each_element(matrix, [&](T element) {
    const Word magnitude = std::bit_cast<Word>(element) & (Bits<T>::kSign - 1);
    const Word exponent = magnitude >> Bits<T>::kMantissa;
    found.most = std::max(found.most, exponent);
    found.least = std::min(found.least, magnitude == 0 ? Bits<T>::kInfinite : exponent);
  });
  return found;
}

/// Returns x * 2^kScale without arithmetic on a denormal x.
template <class T>
T grown(T x) {
  using Word = typename Bits<T>::Word;
  using Signed = typename Bits<T>::Signed;
  // The least denormal times 2^kScale: an integer times this is exact.
  constexpr T kUnit = std::bit_cast<T>(Word{kScale + 1 - Bits<T>::kMantissa} << Bits<T>::kMantissa);
  const Word bits = std::bit_cast<Word>(x), magnitude = bits & (Bits<T>::kSign - 1);
  const T of_denormal = static_cast<T>(static_cast<Signed>(magnitude & Bits<T>::kLowBits)) * kUnit;
  const Word of_normal = magnitude + (Word{kScale} << Bits<T>::kMantissa);
  const bool is_normal = magnitude > Bits<T>::kLowBits;
  const Word scaled = is_normal ? of_normal : std::bit_cast<Word>(of_denormal);
  return std::bit_cast<T>(scaled | (bits & Bits<T>::kSign));
}

/// Returns x * 2^-kScale, if that is normal or 0.
template <class T>
T shrunk(T x) {
  using Word = typename Bits<T>::Word;
  const Word bits = std::bit_cast<Word>(x);
  const bool is_zero = (bits & (Bits<T>::kSign - 1)) == 0;
  return std::bit_cast<T>(is_zero ? bits : bits - (Word{kScale} << Bits<T>::kMantissa));
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
