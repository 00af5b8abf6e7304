#include "element.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>

#include "failure.h"
#include "plain_text.h"

namespace scanloom::cli {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 40;
constexpr std::int64_t kShownInFull = 12;
constexpr std::int64_t kShownOfMany = 6;

template <class T>
void store(T value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

template <class T>
T fetch(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Rounds a double to f16 (nearest even); overflow becomes infinity.
std::uint16_t half_bits(double number) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(number) ? 0x8000 : 0);
  const double size = std::fabs(number);
  if (std::isnan(number)) return 0x7e00;
  if (size >= 65520.0) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  // Below 2^-14 the spacing stays 2^-24; a carry propagates into the exponent.
  const int scale = size == 0 ? -24 : std::max(exponent - 11, -24);
  const auto digits = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -scale)));
  const auto base = static_cast<std::uint32_t>(scale + 24);
  return static_cast<std::uint16_t>(sign | (digits + (base << 10)));
}

double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int digits = bits & 0x3ff;
  double size = 0;
  if (exponent == 0x1f) {
    size = digits == 0 ? std::numeric_limits<double>::infinity()
                       : std::numeric_limits<double>::quiet_NaN();
  } else {
    size = exponent == 0 ? std::ldexp(digits, -24) : std::ldexp(digits + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

std::uint16_t bfloat_bits(double number) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  if (std::isnan(number)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

double bfloat_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

bool is_signed(DType dtype) { return dtype_kind(dtype) == DTypeKind::signed_int; }

std::int64_t read_signed(const std::byte* from, std::size_t bytes) {
  if (bytes == 1) return fetch<std::int8_t>(from);
  if (bytes == 2) return fetch<std::int16_t>(from);
  if (bytes == 4) return fetch<std::int32_t>(from);
  return fetch<std::int64_t>(from);
}

std::uint64_t read_unsigned(const std::byte* from, std::size_t bytes) {
  if (bytes == 1) return fetch<std::uint8_t>(from);
  if (bytes == 2) return fetch<std::uint16_t>(from);
  if (bytes == 4) return fetch<std::uint32_t>(from);
  return fetch<std::uint64_t>(from);
}

std::string printed(const char* format, double number) {
  char text[40];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

/// Formats all items if they are few, otherwise the first ones and "...".
std::string items_text(const View& view) {
  std::string text = "[";
  for (std::size_t i = 0; i < view.items.size(); ++i) {
    if (i > 0) text += "; ";
    if (i == static_cast<std::size_t>(kShownOfMany)) return text + "...]";
    text += elements_text(view.items[i]);
  }
  return text + "]";
}

}  // namespace

std::string numpy_name(DType dtype) {
  if (dtype == DType::f32) return "float32";
  if (dtype == DType::f64) return "float64";
  return std::string(dtype_onnx_name(dtype));
}

std::string type_text(DType dtype, const std::vector<std::int64_t>& shape) {
  std::string text = numpy_name(dtype) + "[";
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    text += (axis > 0 ? "," : "") + std::to_string(shape[axis]);
  return text + "]";
}

std::optional<std::int64_t> count_elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count) || count > kMaxElements)
      return std::nullopt;
  }
  return count;
}

const std::byte* element_at(const View& view, std::int64_t i) {
  const auto size = static_cast<std::int64_t>(dtype_bytes(view.dtype));
  const auto* data = static_cast<const std::byte*>(view.data);
  if (view.strides.empty()) return data + i * size;
  std::int64_t offset = 0;
  for (std::size_t axis = view.shape.size(); axis-- > 0;) {
    offset += i % view.shape[axis] * view.strides[axis];
    i /= view.shape[axis];
  }
  return data + offset * size;
}

std::string index_text(const std::vector<std::int64_t>& shape, std::int64_t i) {
  std::string text;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    text = std::to_string(i % shape[axis]) + (text.empty() ? "" : ",") + text;
    i /= shape[axis];
  }
  return "[" + text + "]";
}

bool is_number(DType dtype) {
  if (is_integer(dtype) || dtype == DType::boolean) return true;
  return dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f32 || dtype == DType::f64;
}

void write_number(DType dtype, double number, std::byte* to) {
  if (dtype == DType::f64) return store(number, to);
  if (dtype == DType::f32) return store(static_cast<float>(number), to);
  if (dtype == DType::f16) return store(half_bits(number), to);
  if (dtype == DType::bf16) return store(bfloat_bits(number), to);
  if (dtype == DType::boolean) return store(static_cast<std::uint8_t>(number != 0), to);
  // Both kinds of integers are the low bytes of a 64-bit integer on a little-endian machine.
  const std::uint64_t bits = number < 0
                                 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                                 : static_cast<std::uint64_t>(number);
  std::memcpy(to, &bits, dtype_bytes(dtype));
}

double read_number(DType dtype, const std::byte* from) {
  if (dtype == DType::f64) return fetch<double>(from);
  if (dtype == DType::f32) return fetch<float>(from);
  if (dtype == DType::f16) return half_value(fetch<std::uint16_t>(from));
  if (dtype == DType::bf16) return bfloat_value(fetch<std::uint16_t>(from));
  if (is_signed(dtype)) return static_cast<double>(read_signed(from, dtype_bytes(dtype)));
  return static_cast<double>(read_unsigned(from, dtype_bytes(dtype)));
}

std::string number_text(DType dtype, const std::byte* from) {
  if (dtype == DType::boolean) return fetch<std::uint8_t>(from) != 0 ? "true" : "false";
  if (is_signed(dtype)) return std::to_string(read_signed(from, dtype_bytes(dtype)));
  if (is_integer(dtype)) return std::to_string(read_unsigned(from, dtype_bytes(dtype)));
  if (is_number(dtype)) return printed("%.6g", read_number(dtype, from));
  if (dtype == DType::c64)
    return printed("%.6g", fetch<float>(from)) + printed("%+.6gj", fetch<float>(from + 4));
  if (dtype == DType::c128)
    return printed("%.6g", fetch<double>(from)) + printed("%+.6gj", fetch<double>(from + 8));
  if (dtype == DType::string) return "'" + plain_line(fetch<StringRef>(from).view()) + "'";
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", fetch<std::uint8_t>(from));
  return text;
}

std::string elements_text(const View& view) {
  if (view.kind != ValueKind::tensor) return items_text(view);
  const std::int64_t count = count_elements(view.shape).value_or(0);
  const std::int64_t shown = count <= kShownInFull ? count : kShownOfMany;
  std::string text;
  for (std::int64_t i = 0; i < shown; ++i)
    text += (i > 0 ? " " : "") + number_text(view.dtype, element_at(view, i));
  if (shown < count) text += " ...";
  return text;
}

std::size_t bytes_needed(DType dtype, const std::vector<std::int64_t>& shape,
                         const std::string& what) {
  const auto count = count_elements(shape);
  if (!count)
    fail(Code::invalid_argument,
         what + ": " + type_text(dtype, shape) + " has a negative size or more than 2^40 elements");
  return static_cast<std::size_t>(*count) * dtype_bytes(dtype);
}

Fresh make_view(DType dtype, std::vector<std::int64_t> shape, const std::string& what) {
  const std::size_t bytes = bytes_needed(dtype, shape, what);
  Fresh fresh;
  try {
    // One extra byte, so that the address is never null.
    auto memory = std::make_shared<std::vector<std::byte>>(bytes + 1);
    fresh.data = memory->data();
    fresh.view = {dtype, std::move(shape), memory->data(), {}, memory};
  } catch (const std::bad_alloc&) {
    fail(Code::out_of_memory, what + ": the system has no memory for " + type_text(dtype, shape) +
                                  ", " + std::to_string(bytes) + " bytes");
  }
  return fresh;
}

}  // namespace scanloom::cli
