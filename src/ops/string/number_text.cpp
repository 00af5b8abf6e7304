#include "ops/string/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <system_error>

#include "base/ascii.h"
#include "tensor/visit.h"

namespace scanloom::ops {
namespace {

/// Decimal digits with a point from 1e-4 to 1e16, otherwise with an exponent.
template <class Real>
std::string real_text(Real value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const Real size = std::fabs(value);
  const bool plain = size == 0 || (size >= Real(1e-4) && size < Real(1e16));
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

/// Returns the shortest decimal that rounds to an element of a type narrower than float.
template <class T>
std::string small_text(T value) {
  const double wide = static_cast<double>(value.to_float());
  if (std::isnan(wide) || std::isinf(wide)) return real_text(wide);
  char buffer[64];
  for (int digits = 1; digits <= 9; ++digits) {
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, wide,
                                   std::chars_format::scientific, digits - 1);
    double read = 0;
    std::from_chars(buffer, end.ptr, read);
    const T back = T::from(read);
    if (std::memcmp(&back, &value, sizeof value) == 0) return real_text(read);
  }
  return real_text(wide);
}

template <class T>
std::string typed_text(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::is_floating_point_v<T>) {
    return real_text(value);
  } else if constexpr (tensor::SmallFloatType<T>) {
    return small_text(value);
  } else if constexpr (tensor::SmallIntType<T>) {
    return std::to_string(value.to_int());
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else {
    return {};
  }
}

template <class Real>
bool read_real(std::string_view text, Real& value) {
  const bool negative = text.starts_with('-');
  std::string_view size = negative || text.starts_with('+') ? text.substr(1) : text;
  if (equal_ignoring_case(size, "inf") || equal_ignoring_case(size, "infinity")) {
    value = std::numeric_limits<Real>::infinity();
  } else if (equal_ignoring_case(size, "nan")) {
    value = std::numeric_limits<Real>::quiet_NaN();
  } else {
    const bool digits = !size.empty() && (size[0] == '.' || (size[0] >= '0' && size[0] <= '9'));
    const auto read = std::from_chars(size.data(), size.data() + size.size(), value);
    if (!digits || read.ec == std::errc::invalid_argument || read.ptr != size.data() + size.size())
      return false;
    if (read.ec == std::errc::result_out_of_range) {
      const bool tiny = size.find("e-") != size.npos || size.find("E-") != size.npos ||
                        (size.find_first_of("eE") == size.npos && size[0] <= '0');
      value = tiny ? Real(0) : std::numeric_limits<Real>::infinity();
    }
  }
  if (negative) value = -value;
  return true;
}

/// Reads 64-bit integers exactly; text with a point or an exponent goes through a double.
template <class Integer>
bool read_integer(std::string_view text, Integer least, Integer greatest, Integer& value) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec == std::errc() && read.ptr == digits.data() + digits.size())
    return value >= least && value <= greatest;
  double real = 0;
  if (!read_real(text, real) || !std::isfinite(real)) return false;
  real = std::trunc(real);
  // The greatest integers round up to a power of two, which is out of range.
  if (real < static_cast<double>(least) || real > static_cast<double>(greatest) ||
      real >= std::ldexp(1.0, std::numeric_limits<Integer>::digits))
    return false;
  value = static_cast<Integer>(real);
  return true;
}

template <class T>
bool read_typed(std::string_view text, std::byte* element) {
  const auto store = [&](auto value) {
    std::memcpy(element, &value, sizeof value);
    return true;
  };
  if constexpr (std::is_same_v<T, bool>) {
    if (equal_ignoring_case(text, "true") || equal_ignoring_case(text, "false"))
      return store(std::uint8_t{equal_ignoring_case(text, "true")});
    double value = 0;
    return read_real(text, value) && store(std::uint8_t{value != 0});
  } else if constexpr (std::is_floating_point_v<T>) {
    T value = 0;
    return read_real(text, value) && store(value);
  } else if constexpr (tensor::SmallFloatType<T>) {
    double value = 0;
    return read_real(text, value) && store(T::from(value));
  } else if constexpr (tensor::SmallIntType<T>) {
    std::int64_t value = 0;
    return read_integer<std::int64_t>(text, T::kMin, T::kMax, value) && store(T::from(value));
  } else if constexpr (std::is_integral_v<T>) {
    T value = 0;
    return read_integer<T>(text, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                           value) &&
           store(value);
  } else {
    return false;
  }
}

}  // namespace

std::string number_text(DType dtype, const std::byte* element) {
  return tensor::visit_dtype(
      dtype, [&]<class T>(std::type_identity<T>) { return typed_text<T>(element); });
}

bool read_number(std::string_view text, DType dtype, std::byte* element) {
  return tensor::visit_dtype(
      dtype, [&]<class T>(std::type_identity<T>) { return read_typed<T>(trimmed(text), element); });
}

}  // namespace scanloom::ops
