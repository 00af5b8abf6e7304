// MathDomain: the exact operations from which the functions of base/math are built. Scalar code
// (scalar_domain.h), vector kernels (kernels/simd) and machine code (jit/emit_math.cpp) each
// provide a domain, so all three compute every function with the same bits. The bits depend only on
// whether the machine has fused multiply-add.
//
//   m.constant(double)        the value rounded to the lane's type; m.integer(int64)
//   add sub mul div           IEEE, to nearest even
//   mul_add(a, b, c)          a b + c, rounded once where the machine fuses (fuses() of
//                             base/cpu.h), else twice
//   neg abs                   on the sign bit alone
//   sqrt                      IEEE; NaN below 0
//   round                     to the nearest integer, ties to even
//   less equal is_nan         masks; less and equal are false for NaN
//   either(mask, mask)        or of masks
//   select(mask, a, b)        a where the mask is set
//   bits from_bits            the lane's bits as a signed integer of the same width, and back
//   add_int sub_int and_int or_int   wrap
//   shift_left(i, n) shift_right(i, n)   n constant; right: arithmetic
//   to_float(i)               exact for the small integers that occur here
//   in_double(function, a, b, c)   of f32: function(m, a, b, c) in a domain m of f64, rounded once
//   replace_rare(mask, a, x, function)   function(x), on plain numbers, where the mask is set, else
//                             a; the mask is rarely set, and x is not 0 there
//
// A domain may provide more, for machines with an instruction for it. These must not change any
// result:
//
//   scales(), scale(a, n)     whether there is such an instruction; a 2^n, rounded once, n an
//                             integer
//   at_least(a, bound)        bound where a is less; bound is neither NaN nor 0
//   at_most(a, bound)         bound where a is more
//   all(mask)                 whether it is set in all lanes, for a branch
//   copy_sign(a, b)           a's absolute value with b's sign
//   by_sign(x, a, b)          a where x < 0, b where x > 0; either where x is 0 or NaN
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace scanloom::math {

template <int kBits>
using PlainNumber = std::conditional_t<kBits == 32, float, double>;
template <int kBits>
using PlainFunction = PlainNumber<kBits> (*)(PlainNumber<kBits>);

template <class M>
concept MathDomain = requires(const M& m, typename M::F f, typename M::I i, typename M::Mask k) {
  { M::kBits } -> std::convertible_to<int>;
  { m.constant(1.0) } -> std::same_as<typename M::F>;
  { m.integer(std::int64_t{1}) } -> std::same_as<typename M::I>;
  { m.add(f, f) } -> std::same_as<typename M::F>;
  { m.sub(f, f) } -> std::same_as<typename M::F>;
  { m.mul(f, f) } -> std::same_as<typename M::F>;
  { m.div(f, f) } -> std::same_as<typename M::F>;
  { m.mul_add(f, f, f) } -> std::same_as<typename M::F>;
  { m.neg(f) } -> std::same_as<typename M::F>;
  { m.abs(f) } -> std::same_as<typename M::F>;
  { m.sqrt(f) } -> std::same_as<typename M::F>;
  { m.round(f) } -> std::same_as<typename M::F>;
  { m.less(f, f) } -> std::same_as<typename M::Mask>;
  { m.equal(f, f) } -> std::same_as<typename M::Mask>;
  { m.is_nan(f) } -> std::same_as<typename M::Mask>;
  { m.either(k, k) } -> std::same_as<typename M::Mask>;
  { m.select(k, f, f) } -> std::same_as<typename M::F>;
  { m.bits(f) } -> std::same_as<typename M::I>;
  { m.from_bits(i) } -> std::same_as<typename M::F>;
  { m.add_int(i, i) } -> std::same_as<typename M::I>;
  { m.sub_int(i, i) } -> std::same_as<typename M::I>;
  { m.and_int(i, i) } -> std::same_as<typename M::I>;
  { m.or_int(i, i) } -> std::same_as<typename M::I>;
  { m.shift_left(i, 1) } -> std::same_as<typename M::I>;
  { m.shift_right(i, 1) } -> std::same_as<typename M::I>;
  { m.to_float(i) } -> std::same_as<typename M::F>;
  { m.replace_rare(k, f, f, PlainFunction<M::kBits>()) } -> std::same_as<typename M::F>;
};

/// Differences between the 32-bit and the 64-bit format.
template <int kBits>
struct Format;

template <>
struct Format<32> {
  static constexpr int kMantissaBits = 23;
  static constexpr std::int64_t kSignMask = INT32_MIN;
  static constexpr std::int64_t kMantissaMask = 0x007fffff;
  static constexpr std::int64_t kOneBits = 0x3f800000;
  static constexpr double kInfinity = static_cast<double>(__builtin_inff());
  static constexpr double kSmallestNormal = 0x1p-126;
  /// Adding it rounds to an integer, which is then in the low bits.
  static constexpr double kRounder = 0x1.8p23;
};

template <>
struct Format<64> {
  static constexpr int kMantissaBits = 52;
  static constexpr std::int64_t kSignMask = INT64_MIN;
  static constexpr std::int64_t kMantissaMask = 0x000fffffffffffff;
  static constexpr std::int64_t kOneBits = 0x3ff0000000000000;
  static constexpr double kInfinity = __builtin_inf();
  static constexpr double kSmallestNormal = 0x1p-1022;
  static constexpr double kRounder = 0x1.8p52;
};

/// coefficients[0] + coefficients[1] x + ..., by Horner's rule.
template <MathDomain M, std::size_t kCount>
typename M::F polynomial(const M& m, typename M::F x, const double (&coefficients)[kCount]) {
  typename M::F sum = m.constant(coefficients[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) sum = m.mul_add(sum, x, m.constant(coefficients[i]));
  return sum;
}

/// The sum of coefficients[kFirst + i] x^i for i below kCount, where powers[j] is x^(2^j).
template <std::size_t kFirst, std::size_t kCount, MathDomain M, std::size_t kAll>
typename M::F paired_terms(const M& m, const typename M::F* powers,
                           const double (&coefficients)[kAll]) {
  constexpr std::size_t kLow = std::bit_floor(kCount - 1), kHalf = kLow / 2;
  if constexpr (kCount == 1) {
    return m.constant(coefficients[kFirst]);
  } else if constexpr (kCount == kLow + 1 && kHalf >= 2) {
    // The last coefficient joins the upper half of the others. The chain is as long, and the power
    // x^kLow is not needed: where it is denormal, some processors take 150 cycles.
    const auto power = powers[std::countr_zero(kHalf)];
    const auto lower = paired_terms<kFirst, kHalf>(m, powers, coefficients);
    const auto upper = paired_terms<kFirst + kHalf, kHalf>(m, powers, coefficients);
    const auto last = m.constant(coefficients[kFirst + kLow]);
    return m.mul_add(m.mul_add(last, power, upper), power, lower);
  } else {
    const auto low = paired_terms<kFirst, kLow>(m, powers, coefficients);
    const auto high = paired_terms<kFirst + kLow, kCount - kLow>(m, powers, coefficients);
    return m.mul_add(high, powers[std::countr_zero(kLow)], low);
  }
}

/// Evaluates the polynomial by Estrin's rule, combining neighbours, then pairs of pairs: the chain
/// is half as long as Horner's, for a few more multiplications. `square` is x x.
template <MathDomain M, std::size_t kCount>
typename M::F paired_polynomial(const M& m, typename M::F x, typename M::F square,
                                const double (&coefficients)[kCount]) {
  static_assert(kCount > 4 && kCount <= 16);
  const auto fourth = m.mul(square, square);
  if constexpr (kCount <= 8) {
    const typename M::F powers[] = {x, square, fourth};
    return paired_terms<0, kCount>(m, powers, coefficients);
  } else {
    const typename M::F powers[] = {x, square, fourth, m.mul(fourth, fourth)};
    return paired_terms<0, kCount>(m, powers, coefficients);
  }
}

/// The absolute value of `magnitude` with the sign of `sign`.
template <MathDomain M>
typename M::F copy_sign(const M& m, typename M::F magnitude, typename M::F sign) {
  if constexpr (requires { m.copy_sign(magnitude, sign); }) {
    return m.copy_sign(magnitude, sign);
  } else {
    const auto mask = m.integer(Format<M::kBits>::kSignMask);
    return m.from_bits(m.or_int(m.bits(m.abs(magnitude)), m.and_int(m.bits(sign), mask)));
  }
}

/// -|x|.
template <MathDomain M>
typename M::F negated_size(const M& m, typename M::F x) {
  return m.from_bits(m.or_int(m.bits(x), m.integer(Format<M::kBits>::kSignMask)));
}

/// max(x, bound). NaN stays NaN.
template <MathDomain M>
typename M::F at_least(const M& m, typename M::F x, double bound) {
  const auto limit = m.constant(bound);
  if constexpr (requires { m.at_least(x, limit); })
    return m.at_least(x, limit);
  else
    return m.select(m.less(x, limit), limit, x);
}

/// min(x, bound). NaN stays NaN.
template <MathDomain M>
typename M::F at_most(const M& m, typename M::F x, double bound) {
  const auto limit = m.constant(bound);
  if constexpr (requires { m.at_most(x, limit); })
    return m.at_most(x, limit);
  else
    return m.select(m.less(limit, x), limit, x);
}

/// `below` if x < 0, `above` if x > 0. If x is 0 or NaN, either: domains differ.
template <MathDomain M>
typename M::F by_sign(const M& m, typename M::F x, typename M::F below, typename M::F above) {
  if constexpr (requires { m.by_sign(x, below, above); })
    return m.by_sign(x, below, above);
  else
    return m.select(m.less(x, m.constant(0)), below, above);
}

}  // namespace scanloom::math
