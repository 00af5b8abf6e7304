// Integers narrower than a byte, as storage: one byte each in memory, sign-extended if signed.
// Conversions from wider integers keep the low bits.
#pragma once

#include <cstdint>

#include <scanloom/dtype.h>

namespace scanloom::tensor {

template <int kWidth, bool kIsSigned>
struct SmallInt {
  static constexpr int kBits = kWidth;
  static constexpr bool kSigned = kIsSigned;
  static constexpr int kMin = kIsSigned ? -(1 << (kWidth - 1)) : 0;
  static constexpr int kMax = kIsSigned ? (1 << (kWidth - 1)) - 1 : (1 << kWidth) - 1;

  std::int8_t value = 0;

  static constexpr SmallInt from(std::int64_t wide) {
    const auto low = static_cast<int>(wide & ((1 << kWidth) - 1));
    return {static_cast<std::int8_t>(low > kMax ? low - (1 << kWidth) : low)};
  }
  [[nodiscard]] constexpr std::int64_t to_int() const { return value; }
  friend constexpr auto operator<=>(SmallInt, SmallInt) = default;
};

using Int2 = SmallInt<2, true>;
using Int4 = SmallInt<4, true>;
using UInt1 = SmallInt<1, false>;
using UInt2 = SmallInt<2, false>;
using UInt3 = SmallInt<3, false>;
using UInt4 = SmallInt<4, false>;
using UInt6 = SmallInt<6, false>;

/// Extends the low `width` < 8 bits of a byte: with copies of the highest bit if signed, else with
/// zeros.
[[nodiscard]] constexpr std::uint8_t stored_narrow(std::uint8_t byte, int width, bool is_signed) {
  const auto value = static_cast<std::uint8_t>(byte & ((1u << width) - 1));
  const bool negative = is_signed && (value >> (width - 1) & 1u) != 0;
  return negative ? static_cast<std::uint8_t>(value | 0xffu << width) : value;
}

/// A storage struct of this header.
template <class T>
concept SmallIntType = requires(T value) {
  { value.to_int() };
  { T::from(1) };
};

}  // namespace scanloom::tensor

namespace scanloom {
template <> inline constexpr DType dtype_of<tensor::Int2> = DType::i2;
template <> inline constexpr DType dtype_of<tensor::Int4> = DType::i4;
template <> inline constexpr DType dtype_of<tensor::UInt1> = DType::u1;
template <> inline constexpr DType dtype_of<tensor::UInt2> = DType::u2;
template <> inline constexpr DType dtype_of<tensor::UInt3> = DType::u3;
template <> inline constexpr DType dtype_of<tensor::UInt4> = DType::u4;
template <> inline constexpr DType dtype_of<tensor::UInt6> = DType::u6;
}  // namespace scanloom
