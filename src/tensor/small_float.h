// Floating-point formats narrower than f32, as storage: one struct per format, converted exactly to
// float and, with one rounding to nearest even, from float or double. Arithmetic is done in float.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include <scanloom/dtype.h>

namespace scanloom::tensor {

/// Encodings beyond the finite values. ieee: infinities and NaNs; fn: only the all-ones NaN; fnuz:
/// only NaN, instead of -0; finite: none.
enum class Specials : std::uint8_t { ieee, fn, fnuz, finite };

/// Whether a cast clips to the largest finite value or gives infinity (NaN if there is none).
enum class Overflow : std::uint8_t { clip, special };

template <int kExponentBits, int kMantissaBits, int kBias, Specials kSpecials>
struct FloatFormat {
  static constexpr int kMantissa = kMantissaBits;
  static constexpr int kSignShift = kExponentBits + kMantissaBits;
  static constexpr std::uint32_t kMagnitude = (1u << kSignShift) - 1;
  static constexpr std::uint32_t kSign = 1u << kSignShift;
  static constexpr std::uint32_t kInfinity =
      kSpecials == Specials::ieee ? kMagnitude >> kMantissaBits << kMantissaBits : 0;
  static constexpr std::uint32_t kQuiet = 1u << (kMantissaBits - 1);
  static constexpr std::uint32_t kNan = kSpecials == Specials::ieee ? kInfinity | kQuiet
                                        : kSpecials == Specials::fn ? kMagnitude
                                                                    : kSign;
  static constexpr std::uint32_t kMax = kSpecials == Specials::ieee ? kInfinity - 1
                                        : kSpecials == Specials::fn ? kMagnitude - 1
                                                                    : kMagnitude;

  static constexpr bool is_nan(std::uint32_t bits) {
    if constexpr (kSpecials == Specials::ieee) return (bits & kMagnitude) > kInfinity;
    if constexpr (kSpecials == Specials::fn) return (bits & kMagnitude) == kMagnitude;
    if constexpr (kSpecials == Specials::fnuz) return bits == kSign;
    return false;
  }

  static constexpr float decode(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & kMagnitude;
    const std::uint32_t sign = (bits >> kSignShift & 1u) << 31;
    if (is_nan(bits)) return std::bit_cast<float>(sign | 0x7fc00000u | payload(magnitude));
    if (kSpecials == Specials::ieee && magnitude == kInfinity)
      return std::bit_cast<float>(sign | 0x7f800000u);
    const std::uint32_t fraction = magnitude & ((1u << kMantissaBits) - 1);
    const std::uint32_t exponent = magnitude >> kMantissaBits;
    if (exponent != 0 || kExponentBits == 8) {
      const std::uint32_t shifted = exponent + static_cast<std::uint32_t>(127 - kBias);
      return std::bit_cast<float>(sign | shifted << 23 | fraction << (23 - kMantissaBits));
    }
    constexpr auto kUnit = static_cast<std::uint32_t>(127 + 1 - kBias - kMantissaBits) << 23;
    const float value = static_cast<float>(fraction) * std::bit_cast<float>(kUnit);
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }

  static constexpr std::uint32_t encode(double value, Overflow overflow) {
    const auto wide = std::bit_cast<std::uint64_t>(value);
    const std::uint32_t sign = static_cast<std::uint32_t>(wide >> 63) << kSignShift;
    const std::uint64_t magnitude = wide & 0x7fffffffffffffffu;
    constexpr std::uint64_t kWideInfinity = 0x7ff0000000000000u;
    if (magnitude > kWideInfinity) return nan(sign, magnitude);
    if (magnitude == kWideInfinity) return beyond(sign, overflow);
    const int exponent = static_cast<int>(magnitude >> 52) - 1023;
    constexpr int kMin = 1 - kBias;
    const bool normal = exponent >= kMin;
    // value = significand * 2^(exponent - 52); the result counts units of 2^(unit - kMantissaBits).
    const int unit = normal ? exponent : kMin;
    const int shift = unit - kMantissaBits - exponent + 52;
    if (shift > 53) return kSpecials == Specials::fnuz ? 0 : sign;
    const std::uint64_t significand = (magnitude & 0xfffffffffffffu) | std::uint64_t{1} << 52;
    const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
    const std::uint64_t half = std::uint64_t{1} << (shift - 1);
    std::uint64_t units = significand >> shift;
    units += rest > half || (rest == half && (units & 1) != 0) ? 1 : 0;
    // A carry out of the mantissa moves into the exponent by itself.
    if (normal) units += static_cast<std::uint64_t>(exponent + kBias - 1) << kMantissaBits;
    if (units > kMax) return beyond(sign, overflow);
    if (kSpecials == Specials::fnuz && units == 0) return 0;
    return sign | static_cast<std::uint32_t>(units);
  }

 private:
  static constexpr std::uint32_t payload(std::uint32_t magnitude) {
    if constexpr (kSpecials != Specials::ieee) return 0;
    return (magnitude & ((1u << kMantissaBits) - 1)) << (23 - kMantissaBits);
  }
  static constexpr std::uint32_t nan(std::uint32_t sign, std::uint64_t wide) {
    if constexpr (kSpecials == Specials::ieee)
      return sign | kNan |
             static_cast<std::uint32_t>(wide >> (52 - kMantissaBits) & ((1u << kMantissaBits) - 1));
    if constexpr (kSpecials == Specials::fn) return sign | kNan;
    if constexpr (kSpecials == Specials::fnuz) return kNan;
    // The format has no NaN: gives -0, whatever the NaN's sign, which differs between machines.
    return kSign;
  }
  static constexpr std::uint32_t beyond(std::uint32_t sign, Overflow overflow) {
    if (overflow == Overflow::clip || kSpecials == Specials::finite) return sign | kMax;
    if constexpr (kSpecials == Specials::ieee) return sign | kInfinity;
    if constexpr (kSpecials == Specials::fnuz) return kNan;
    return sign | kNan;
  }
};

/// kOverflow: the default of conversions (ONNX Cast with saturate = 1).
template <class Format, class Bits, Overflow kOverflow>
struct SmallFloat {
  Bits bits = 0;

  static constexpr SmallFloat from_bits(Bits bits) { return {bits}; }
  static constexpr SmallFloat from(double value, Overflow overflow = kOverflow) {
    return {static_cast<Bits>(Format::encode(value, overflow))};
  }
  [[nodiscard]] constexpr float to_float() const { return Format::decode(bits); }
  friend constexpr bool operator==(SmallFloat, SmallFloat) = default;  ///< compares bits
};

using Half = SmallFloat<FloatFormat<5, 10, 15, Specials::ieee>, std::uint16_t, Overflow::special>;
using BFloat16 =
    SmallFloat<FloatFormat<8, 7, 127, Specials::ieee>, std::uint16_t, Overflow::special>;
using F8E4M3FN = SmallFloat<FloatFormat<4, 3, 7, Specials::fn>, std::uint8_t, Overflow::clip>;
using F8E4M3FNUZ = SmallFloat<FloatFormat<4, 3, 8, Specials::fnuz>, std::uint8_t, Overflow::clip>;
using F8E5M2 = SmallFloat<FloatFormat<5, 2, 15, Specials::ieee>, std::uint8_t, Overflow::clip>;
using F8E5M2FNUZ = SmallFloat<FloatFormat<5, 2, 16, Specials::fnuz>, std::uint8_t, Overflow::clip>;
using F4E2M1 = SmallFloat<FloatFormat<2, 1, 1, Specials::finite>, std::uint8_t, Overflow::clip>;

enum class Rounding : std::uint8_t { up, down, nearest };

/// A power of two, 2^-127 .. 2^127, or NaN (0xff): no sign, no zero. ONNX casts round up by
/// default; signs are dropped.
struct F8E8M0 {
  std::uint8_t bits = 0;

  static constexpr F8E8M0 from_bits(std::uint8_t bits) { return {bits}; }
  static constexpr F8E8M0 from(double value, Overflow overflow = Overflow::clip,
                               Rounding rounding = Rounding::up) {
    const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(value) & 0x7fffffffffffffffu;
    constexpr std::uint64_t kWideInfinity = 0x7ff0000000000000u;
    constexpr std::uint64_t kHalf = std::uint64_t{1} << 51;
    if (magnitude > kWideInfinity) return {0xff};
    int exponent = static_cast<int>(magnitude >> 52) - 1023 + 127;
    const std::uint64_t fraction = magnitude & 0xfffffffffffffu;
    const bool up = rounding == Rounding::up ? fraction != 0
                                             : rounding == Rounding::nearest && fraction >= kHalf;
    exponent += up ? 1 : 0;
    if (exponent > 254) return {overflow == Overflow::clip ? std::uint8_t{254} : std::uint8_t{255}};
    return {static_cast<std::uint8_t>(exponent < 0 ? 0 : exponent)};
  }
  [[nodiscard]] constexpr float to_float() const {
    if (bits == 0xff) return std::numeric_limits<float>::quiet_NaN();
    return std::bit_cast<float>(bits == 0 ? 0x00400000u : std::uint32_t{bits} << 23);
  }
  friend constexpr bool operator==(F8E8M0, F8E8M0) = default;
};

/// The 4-bit NormalFloat of QLoRA (Dettmers et al., 2023, appendix E): quantiles of a normal
/// distribution. Values convert to the nearest entry, ties to the lower one.
struct NormalFloat4 {
  std::uint8_t bits = 0;

  static constexpr float kValues[16] = {-1.0f,        -0.6961928f,  -0.52507305f,  -0.39491749f,
                                        -0.28444138f, -0.18477343f, -0.091050036f, 0.0f,
                                        0.079580299f, 0.1609302f,   0.24611230f,   0.33791524f,
                                        0.44070983f,  0.56261700f,  0.72295684f,   1.0f};

  static constexpr NormalFloat4 from_bits(std::uint8_t bits) { return {bits}; }
  static constexpr NormalFloat4 from(double value, Overflow = Overflow::clip) {
    std::uint8_t best = value != value ? 7 : 0;
    for (std::uint8_t i = 1; i < 16 && value == value; ++i)
      if (value > (double{kValues[i - 1]} + double{kValues[i]}) / 2) best = i;
    return {best};
  }
  [[nodiscard]] constexpr float to_float() const { return kValues[bits & 15]; }
  friend constexpr bool operator==(NormalFloat4, NormalFloat4) = default;
};

/// A storage struct of this header.
template <class T>
concept SmallFloatType = requires(T value) {
  { value.to_float() };
  { T::from(1.0) };
};

}  // namespace scanloom::tensor

namespace scanloom {
template <> inline constexpr DType dtype_of<tensor::Half> = DType::f16;
template <> inline constexpr DType dtype_of<tensor::BFloat16> = DType::bf16;
template <> inline constexpr DType dtype_of<tensor::F8E4M3FN> = DType::f8e4m3fn;
template <> inline constexpr DType dtype_of<tensor::F8E4M3FNUZ> = DType::f8e4m3fnuz;
template <> inline constexpr DType dtype_of<tensor::F8E5M2> = DType::f8e5m2;
template <> inline constexpr DType dtype_of<tensor::F8E5M2FNUZ> = DType::f8e5m2fnuz;
template <> inline constexpr DType dtype_of<tensor::F8E8M0> = DType::f8e8m0;
template <> inline constexpr DType dtype_of<tensor::F4E2M1> = DType::f4e2m1;
template <> inline constexpr DType dtype_of<tensor::NormalFloat4> = DType::nf4;
}  // namespace scanloom
