// Numbers times a power of two by their bits. Where an instruction with a denormal operand takes
// 150 cycles, as on Intel, factors are scaled before they are multiplied: (a * 2^64) (b * 2^-64) is
// a * b, so every sum of products keeps its bits if the scaled factors are normal.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace scanloom::kernels {

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

/// The exponents of some numbers as their bits have them, 0 for denormals, except those of zeros.
template <class T>
struct Exponents {
  using Word = typename Bits<T>::Word;
  Word least = Bits<T>::kInfinite, most = 0;

  void add(T x) {
    const Word magnitude = std::bit_cast<Word>(x) & (Bits<T>::kSign - 1);
    const Word exponent = magnitude >> Bits<T>::kMantissa;
    most = std::max(most, exponent);
    least = std::min(least, magnitude == 0 ? Bits<T>::kInfinite : exponent);
  }

  [[nodiscard]] bool has_denormals() const { return least == 0; }
  [[nodiscard]] bool may_grow() const { return most < Bits<T>::kInfinite - kScale; }
  [[nodiscard]] bool may_shrink() const {
    return least > Word{kScale} && most < Bits<T>::kInfinite;
  }
};

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

/// Returns the same where x may be so small that the product with any denormal is less than half of
/// the least denormal, to which it adds nothing: then the least normal number of its sign stands
/// for x. Infinities and NaN stay.
template <class T>
T shrunk_or_least(T x) {
  using Word = typename Bits<T>::Word;
  const Word bits = std::bit_cast<Word>(x), magnitude = bits & (Bits<T>::kSign - 1);
  const Word exponent = magnitude >> Bits<T>::kMantissa;
  if (exponent > Word{kScale}) return exponent == Bits<T>::kInfinite ? x : shrunk(x);
  const Word least = magnitude == 0 ? 0 : Word{1} << Bits<T>::kMantissa;
  return std::bit_cast<T>(least | (bits & Bits<T>::kSign));
}

}  // namespace scanloom::kernels
