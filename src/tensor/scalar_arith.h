// The instructions of ScalarPrograms on single values, for each class of numbers that they compute
// in: float, double, i64, u64, bool, complex. Included by scalar_eval.cpp and the reference
// reductions.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/math/math.h"
#include "tensor/scalar.h"
#include "tensor/visit.h"

namespace scanloom::tensor::arith {

template <class T>
concept Whole = std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t>;

template <Whole T>
constexpr T wrap(std::uint64_t value) {
  return static_cast<T>(value);
}
template <Whole T>
constexpr std::uint64_t bits(T value) {
  return static_cast<std::uint64_t>(value);
}

template <Whole T>
constexpr T divide(T a, T b) {
  if (b == 0) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrap<T>(0 - bits(a));
  return a / b;
}
/// The remainder with the sign of the dividend; 0 for a zero divisor.
template <Whole T>
constexpr T remainder(T a, T b) {
  if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return a % b;
}
/// The remainder with the sign of the divisor.
template <Whole T>
constexpr T modulo(T a, T b) {
  const T rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
template <Whole T>
constexpr T power(T base, T exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base == static_cast<T>(-1)) return (exponent & 1) != 0 ? base : T{1};
    return 0;
  }
  std::uint64_t result = 1;
  std::uint64_t square = bits(base);
  for (std::uint64_t rest = bits(exponent); rest != 0; rest >>= 1, square *= square)
    if ((rest & 1) != 0) result *= square;
  return wrap<T>(result);
}
template <Whole T>
constexpr T shift_left(T a, T b, int width) {
  return bits(b) >= static_cast<std::uint64_t>(width) ? T{0} : wrap<T>(bits(a) << bits(b));
}
template <Whole T>
constexpr T shift_right(T a, T b, int width) {
  if (bits(b) >= static_cast<std::uint64_t>(width)) return a < 0 ? static_cast<T>(-1) : T{0};
  return a >> b;
}

template <std::floating_point T>
T minimum(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <std::floating_point T>
T maximum(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
/// If the quotient of |a| and |b| is below kRemainderQuotient and, in f64, |a| is below
/// kMaxRemainderSteps, a few operations give the exact remainder; f32 computes them in f64.
template <std::floating_point T>
inline constexpr T kRemainderQuotient = std::same_as<T, double> ? 0x1p24 : 0x1p28F;
inline constexpr double kMaxRemainderSteps = 0x1p1000;
/// These bits are cleared in the high part of a divisor, so that its products are exact.
inline constexpr std::uint64_t kRemainderLow = (std::uint64_t{1} << 27) - 1;

/// std::fmod without its loop over the bits of the quotient: if n is the rounded and then truncated
/// quotient, a - n b is a multiple of the last place of b and at most b, hence exact, and n is at
/// most one too large.
template <std::floating_point T>
T remainder(T a, T b) {
  const double x = std::fabs(a), y = std::fabs(b);
  const double quotient = x / y;
  const bool near = quotient < kRemainderQuotient<T> && x < kMaxRemainderSteps;
  if (!near) return std::fmod(a, b);
  if (x < y) return a;
  const auto n = static_cast<double>(static_cast<std::int64_t>(quotient));
  double rest;
  if constexpr (std::same_as<T, double>) {
    const auto high = std::bit_cast<double>(std::bit_cast<std::uint64_t>(y) & ~kRemainderLow);
    rest = x - n * high - n * (y - high);
  } else {
    rest = x - n * y;
  }
  return std::copysign(static_cast<T>(rest < 0 ? rest + y : rest), a);
}
/// numpy's mod: the result has the sign of the divisor, even if it is zero.
template <std::floating_point T>
T modulo(T a, T b) {
  const T rest = remainder(a, b);
  if (b == 0 || rest != rest) return rest;
  if (rest == 0) return std::copysign(T{0}, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
/// +0 for both zeros, NaN for NaN.
template <class T>
constexpr T sign(T a) {
  if (a > 0) return 1;
  if (a < 0) return static_cast<T>(-1);
  return a == 0 ? T{0} : a;
}

/// Written out because the library's product has a slow path for NaN with an order of operations of
/// its own.
template <class T>
std::complex<T> multiply(std::complex<T> a, std::complex<T> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Truncates; NaN becomes 0, and values beyond the range its ends.
template <class To>
constexpr To saturate(double value, double least, double beyond, To min, To max) {
  if (value != value) return To{0};
  if (value < least) return min;
  return value >= beyond ? max : static_cast<To>(value);
}

/// Converts a value of a compute class to the element type To by the rules of the cast instruction.
template <class To, class From>
To convert(From value) {
  if constexpr (is_complex_type<From>) {
    if constexpr (is_complex_type<To>)
      return To(value);
    else if constexpr (std::same_as<To, bool>)
      return value != From{};
    else
      return convert<To>(value.real());
  } else if constexpr (is_complex_type<To>) {
    return To(static_cast<typename To::value_type>(value));
  } else if constexpr (std::same_as<To, bool>) {
    return value != From{0};
  } else if constexpr (SmallFloatType<To>) {
    // Integers go through f32, as all computation in such formats does.
    if constexpr (std::floating_point<From>)
      return To::from(value);
    else
      return To::from(static_cast<float>(value));
  } else if constexpr (std::floating_point<From> && SmallIntType<To>) {
    return To::from(saturate<std::int64_t>(value, To::kMin, To::kMax, To::kMin, To::kMax));
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    using Limits = std::numeric_limits<To>;
    constexpr double kBeyond = 2.0 * static_cast<double>(Limits::max() / 2 + 1);
    return saturate<To>(value, static_cast<double>(Limits::min()), kBeyond, Limits::min(),
                        Limits::max());
  } else {
    return narrow<To>(value);
  }
}

/// Like convert(), but a floating-point value cast to an integer narrower than a byte becomes an
/// i64 whose low bits are kept, as for integers.
template <class To, class From>
To cast(From value) {
  if constexpr (std::floating_point<From> && SmallIntType<To>)
    return To::from(convert<std::int64_t>(value));
  else
    return convert<To>(value);
}

}  // namespace scanloom::tensor::arith
