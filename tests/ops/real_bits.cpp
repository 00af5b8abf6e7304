#include "tests/ops/real_bits.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace scanloom::ops {
namespace {

enum class Specials : std::uint8_t {
  ieee,       // the greatest exponent holds infinities and NaN
  nan_last,   // no infinity; all ones are NaN
  nan_minus,  // no infinity and no -0, whose bits are NaN
  none,
};

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};

Format format_of(DType dtype) {
  if (dtype == DType::f16) return {5, 10, 15, Specials::ieee};
  if (dtype == DType::bf16) return {8, 7, 127, Specials::ieee};
  if (dtype == DType::f8e4m3fn) return {4, 3, 7, Specials::nan_last};
  if (dtype == DType::f8e4m3fnuz) return {4, 3, 8, Specials::nan_minus};
  if (dtype == DType::f8e5m2) return {5, 2, 15, Specials::ieee};
  if (dtype == DType::f8e5m2fnuz) return {5, 2, 16, Specials::nan_minus};
  if (dtype == DType::f4e2m1) return {2, 1, 1, Specials::none};
  std::abort();
}

double decode_small(const Format& format, std::uint64_t bits) {
  const int exponent_max = (1 << format.exponent_bits) - 1;
  const int mantissa_max = (1 << format.mantissa_bits) - 1;
  const int mantissa = static_cast<int>(bits) & mantissa_max;
  const int exponent = static_cast<int>(bits >> format.mantissa_bits) & exponent_max;
  const bool minus = ((bits >> (format.mantissa_bits + format.exponent_bits)) & 1) != 0;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (format.specials == Specials::nan_minus && minus && exponent == 0 && mantissa == 0) return nan;
  if (format.specials == Specials::nan_last && exponent == exponent_max && mantissa == mantissa_max)
    return nan;
  double size = std::ldexp(mantissa + (exponent > 0 ? mantissa_max + 1 : 0),
                           std::max(exponent, 1) - format.bias - format.mantissa_bits);
  if (format.specials == Specials::ieee && exponent == exponent_max)
    size = mantissa != 0 ? nan : std::numeric_limits<double>::infinity();
  return minus ? -size : size;
}

// Neighbouring values of one sign have neighbouring bits; this joins the two signs at zero.
std::int64_t place_in_order(DType dtype, std::uint64_t bits) {
  const std::uint64_t sign = std::uint64_t{1} << (dtype_file_bits(dtype) - 1);
  const auto size = static_cast<std::int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -size : size;
}

}  // namespace

double decode_real(DType dtype, std::uint64_t bits) {
  if (dtype == DType::f64) return std::bit_cast<double>(bits);
  if (dtype == DType::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (dtype == DType::f8e8m0)
    return bits == 255 ? std::numeric_limits<double>::quiet_NaN()
                       : std::ldexp(1.0, static_cast<int>(bits) - 127);
  return decode_small(format_of(dtype), bits);
}

std::uint64_t encode_real(DType dtype, double value) {
  if (dtype == DType::f64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == DType::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint64_t count = std::uint64_t{1} << dtype_file_bits(dtype);
  for (std::uint64_t bits = 0; bits < count; ++bits) {
    const double candidate = decode_real(dtype, bits);
    if (std::isnan(value) ? std::isnan(candidate)
                          : candidate == value && std::signbit(candidate) == std::signbit(value))
      return bits;
  }
  std::abort();  // a sample's mistake: the value is not exact in dtype
}

double distance_in_ulps(DType dtype, std::uint64_t a, std::uint64_t b) {
  const bool a_nan = std::isnan(decode_real(dtype, a)), b_nan = std::isnan(decode_real(dtype, b));
  if (a_nan || b_nan) return a_nan && b_nan ? 0 : std::numeric_limits<double>::infinity();
  if (place_in_order(dtype, a) == 0 && place_in_order(dtype, b) == 0) return a == b ? 0 : 0.5;
  return std::abs(static_cast<double>(place_in_order(dtype, a)) -
                  static_cast<double>(place_in_order(dtype, b)));
}

}  // namespace scanloom::ops
