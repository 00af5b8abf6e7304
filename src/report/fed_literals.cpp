#include "report/fed_literals.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

namespace scanloom::report {
namespace {

constexpr std::int64_t kMaxCount = 8;

template <class T>
std::vector<std::string> literals(const std::byte* data, std::int64_t count) {
  std::vector<std::string> list;
  bool is_zero = true;
  for (std::int64_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, data + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    if constexpr (std::is_floating_point_v<T>) {
      if (!std::isfinite(value)) return {};
    } else if constexpr (sizeof(T) == sizeof(std::int64_t)) {
      // Beyond the other end, a number in C++ needs a suffix.
      if (value > T{std::numeric_limits<std::int64_t>::max()}) return {};
      if (std::is_signed_v<T> && value == std::numeric_limits<T>::min()) return {};
    }
    is_zero &= value == T{} && !std::signbit(static_cast<double>(value));
    list.push_back(fmt::format("{}", value));
  }
  return is_zero ? std::vector<std::string>() : list;
}

}  // namespace

std::vector<std::string> fed_literals(DType dtype, const std::byte* data, std::int64_t count) {
  if (count <= 0 || count > kMaxCount) return {};
  switch (dtype) {
    case DType::f32:
      return literals<float>(data, count);
    case DType::f64:
      return literals<double>(data, count);
    case DType::i8:
      return literals<std::int8_t>(data, count);
    case DType::i16:
      return literals<std::int16_t>(data, count);
    case DType::i32:
      return literals<std::int32_t>(data, count);
    case DType::i64:
      return literals<std::int64_t>(data, count);
    case DType::u8:
    case DType::boolean:
      return literals<std::uint8_t>(data, count);
    case DType::u16:
      return literals<std::uint16_t>(data, count);
    case DType::u32:
      return literals<std::uint32_t>(data, count);
    case DType::u64:
      return literals<std::uint64_t>(data, count);
    default:  // these are fed as zeros
      return {};
  }
}

}  // namespace scanloom::report
