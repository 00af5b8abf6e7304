#include "tensor/text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "base/expected.h"
#include "tensor/visit.h"

namespace scanloom::tensor::text {
namespace {

template <std::size_t kBytes>
using BitsOf = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
bool store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
  return true;
}

template <class T>
void append_number(std::string& out, T value) {
  char buffer[64];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

template <class Bits>
void append_bits(std::string& out, Bits bits) {
  fmt::format_to(std::back_inserter(out), "0x{:0{}x}", std::uint64_t{bits}, 2 * sizeof bits);
}

template <class T>
bool read_whole(std::string_view word, T& value) {
  const char* end = word.data() + word.size();
  const auto result = std::from_chars(word.data(), end, value);
  return result.ec == std::errc() && result.ptr == end;
}

template <class Bits>
bool read_bits(std::string_view word, Bits& bits) {
  if (!word.starts_with("0x") || word.size() != 2 + 2 * sizeof bits) return false;
  const char* end = word.data() + word.size();
  const auto result = std::from_chars(word.data() + 2, end, bits, 16);
  return result.ec == std::errc() && result.ptr == end;
}

/// Accepts only the spellings that to_chars writes, and "nan", of the many that from_chars reads.
template <class Real>
bool read_decimal(std::string_view word, Real& value) {
  value = std::numeric_limits<Real>::quiet_NaN();
  if (word == "nan") return true;
  const std::string_view digits = word.starts_with('-') ? word.substr(1) : word;
  if (digits != "inf" && (digits.empty() || digits[0] < '0' || digits[0] > '9')) return false;
  return read_whole(word, value);
}

/// Converts a double with one rounding, both for writing and for reading.
template <class T>
T to_real(double value) {
  if constexpr (tensor::SmallFloatType<T>) {
    return T::from(value);
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

template <class T>
void append_real(std::string& out, T value) {
  const auto wide = static_cast<double>(tensor::widen(value));
  const auto bits = std::bit_cast<BitsOf<sizeof(T)>>(value);
  if (std::isnan(wide)) {
    const bool plain = same_bits(value, to_real<T>(std::numeric_limits<double>::quiet_NaN()));
    return plain ? void(out += "nan") : append_bits(out, bits);
  }
  if constexpr (std::is_floating_point_v<T>) {
    return append_number(out, value);
  } else {
    const bool whole = wide == std::trunc(wide) && std::fabs(wide) < 1e6;
    if (whole && same_bits(to_real<T>(wide), value)) return append_number(out, wide);
    char buffer[64];
    for (int digits = 1; digits <= 9; ++digits) {
      const auto end =
          std::to_chars(buffer, buffer + sizeof buffer, wide, std::chars_format::general, digits);
      double read = 0;
      std::from_chars(buffer, end.ptr, read);
      if (same_bits(to_real<T>(read), value)) return append_number(out, read);
    }
    append_bits(out, bits);
  }
}

template <class T>
bool read_real(std::string_view word, std::byte* element) {
  BitsOf<sizeof(T)> bits = 0;
  if (read_bits(word, bits)) return store(bits, element);
  std::conditional_t<std::is_floating_point_v<T>, T, double> value = 0;
  return read_decimal(word, value) && store(to_real<T>(value), element);
}

template <class T>
void append_typed(std::string& out, const std::byte* element) {
  if constexpr (std::is_same_v<T, bool>) {
    const auto byte = load<std::uint8_t>(element);
    return byte > 1 ? append_bits(out, byte) : void(out += byte == 1 ? "true" : "false");
  } else if constexpr (tensor::is_complex_type<T>) {
    append_real(out, load<T>(element).real());
    out += ':';
    append_real(out, load<T>(element).imag());
  } else if constexpr (tensor::SmallIntType<T>) {
    const int value = load<T>(element).value;
    const bool fits = value >= T::kMin && value <= T::kMax;
    return fits ? append_number(out, value) : append_bits(out, load<std::uint8_t>(element));
  } else if constexpr (std::is_integral_v<T>) {
    append_number(out, load<T>(element));
  } else if constexpr (!std::is_same_v<T, tensor::StringRef>) {
    append_real(out, load<T>(element));
  }
}

template <class T>
bool read_typed(std::string_view word, std::byte* element) {
  std::uint8_t byte = 0;
  if constexpr (std::is_same_v<T, bool>) {
    if (word == "true" || word == "false") return store(std::uint8_t{word == "true"}, element);
    return read_bits(word, byte) && store(byte, element);
  } else if constexpr (tensor::is_complex_type<T>) {
    using Real = typename T::value_type;
    const std::size_t colon = word.find(':');
    return colon != word.npos && read_real<Real>(word.substr(0, colon), element) &&
           read_real<Real>(word.substr(colon + 1), element + sizeof(Real));
  } else if constexpr (tensor::SmallIntType<T>) {
    int value = 0;
    if (read_bits(word, byte)) return store(byte, element);
    return read_whole(word, value) && value >= T::kMin && value <= T::kMax &&
           store(static_cast<std::int8_t>(value), element);
  } else if constexpr (std::is_integral_v<T>) {
    T value = 0;
    return read_whole(word, value) && store(value, element);
  } else if constexpr (std::is_same_v<T, tensor::StringRef>) {
    return false;
  } else {
    return read_real<T>(word, element);
  }
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

bool is_name(std::string_view text) {
  if (text.empty() || text[0] == '.' || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), is_name_char);
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  out += '"';
}

std::optional<std::string> unquote(std::string_view quoted) {
  std::string text;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      text += quoted[i];
      continue;
    }
    if (i + 1 < quoted.size() && (quoted[i + 1] == '"' || quoted[i + 1] == '\\')) {
      text += quoted[++i];
      continue;
    }
    if (i + 3 >= quoted.size() || quoted[i + 1] != 'x') return std::nullopt;
    const int high = hex_digit(quoted[i + 2]), low = hex_digit(quoted[i + 3]);
    if (high < 0 || low < 0) return std::nullopt;
    text += static_cast<char>(high * 16 + low);
    i += 3;
  }
  return text;
}

void append_element(std::string& out, DType dtype, const std::byte* element) {
  tensor::visit_dtype(dtype,
                      [&]<class T>(std::type_identity<T>) { append_typed<T>(out, element); });
}

bool read_element(std::string_view word, DType dtype, std::byte* element) {
  return tensor::visit_dtype(
      dtype, [&]<class T>(std::type_identity<T>) { return read_typed<T>(word, element); });
}

}  // namespace scanloom::tensor::text
