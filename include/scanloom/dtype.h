// DType: the element types of tensors: all 26 of ONNX, and the ones that only OpenVINO has.
// Elements narrower than a byte take one byte each in memory and are packed only in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <scanloom/api.h>

namespace scanloom {

enum class DType : std::uint8_t {
#define SCANLOOM_DTYPE(name, onnx, number, bits, bytes, kind) name,
#include <scanloom/dtypes.inc>
#undef SCANLOOM_DTYPE
};

enum class DTypeKind : std::uint8_t { real, signed_int, unsigned_int, boolean, complex, text };

inline constexpr int kDTypeCount = 0
#define SCANLOOM_DTYPE(name, onnx, number, bits, bytes, kind) +1
#include <scanloom/dtypes.inc>
#undef SCANLOOM_DTYPE
    ;

/// Bytes of one element in memory.
[[nodiscard]] constexpr std::size_t dtype_bytes(DType dtype) noexcept {
  constexpr std::uint8_t kBytes[] = {
#define SCANLOOM_DTYPE(name, onnx, number, bits, bytes, kind) bytes,
#include <scanloom/dtypes.inc>
#undef SCANLOOM_DTYPE
  };
  return kBytes[static_cast<int>(dtype)];
}

/// Bits of one element in a file; 0 for strings.
[[nodiscard]] constexpr int dtype_file_bits(DType dtype) noexcept {
  constexpr std::uint8_t kBits[] = {
#define SCANLOOM_DTYPE(name, onnx, number, bits, bytes, kind) bits,
#include <scanloom/dtypes.inc>
#undef SCANLOOM_DTYPE
  };
  return kBits[static_cast<int>(dtype)];
}

[[nodiscard]] constexpr DTypeKind dtype_kind(DType dtype) noexcept {
  constexpr DTypeKind kKinds[] = {
#define SCANLOOM_DTYPE(name, onnx, number, bits, bytes, kind) DTypeKind::kind,
#include <scanloom/dtypes.inc>
#undef SCANLOOM_DTYPE
  };
  return kKinds[static_cast<int>(dtype)];
}

[[nodiscard]] constexpr bool is_integer(DType dtype) noexcept {
  return dtype_kind(dtype) == DTypeKind::signed_int || dtype_kind(dtype) == DTypeKind::unsigned_int;
}
[[nodiscard]] constexpr bool is_floating_point(DType dtype) noexcept {
  return dtype_kind(dtype) == DTypeKind::real;
}
/// The former name of is_floating_point().
[[nodiscard]] constexpr bool is_real(DType dtype) noexcept { return is_floating_point(dtype); }

/// The name in the text form of the IR: "f32", "i64", "boolean", ...
SCANLOOM_API std::string_view dtype_name(DType dtype) noexcept;
/// The name that ONNX uses: "float", "int64", "bool", ...
SCANLOOM_API std::string_view dtype_onnx_name(DType dtype) noexcept;
SCANLOOM_API std::optional<DType> dtype_from_name(std::string_view name) noexcept;
/// The number in TensorProto.DataType; 0 for types that ONNX lacks.
SCANLOOM_API int dtype_onnx_number(DType dtype) noexcept;
SCANLOOM_API std::optional<DType> dtype_from_onnx_number(std::int64_t number) noexcept;

/// One element of a tensor of strings in memory: bytes owned by the tensor's storage, by convention
/// UTF-8.
struct StringRef {
  const char* data = nullptr;
  std::int64_t size = 0;
  [[nodiscard]] std::string_view view() const noexcept {
    return {data, static_cast<std::size_t>(size)};
  }
};
static_assert(sizeof(StringRef) == dtype_bytes(DType::string));

/// The element type of a C++ type: dtype_of<float> is DType::f32.
template <class T>
inline constexpr DType dtype_of = DType::string;
template <> inline constexpr DType dtype_of<float> = DType::f32;
template <> inline constexpr DType dtype_of<double> = DType::f64;
template <> inline constexpr DType dtype_of<std::int8_t> = DType::i8;
template <> inline constexpr DType dtype_of<std::int16_t> = DType::i16;
template <> inline constexpr DType dtype_of<std::int32_t> = DType::i32;
template <> inline constexpr DType dtype_of<std::int64_t> = DType::i64;
template <> inline constexpr DType dtype_of<long long> = DType::i64;
template <> inline constexpr DType dtype_of<std::uint8_t> = DType::u8;
template <> inline constexpr DType dtype_of<std::uint16_t> = DType::u16;
template <> inline constexpr DType dtype_of<std::uint32_t> = DType::u32;
template <> inline constexpr DType dtype_of<std::uint64_t> = DType::u64;
template <> inline constexpr DType dtype_of<bool> = DType::boolean;
template <> inline constexpr DType dtype_of<StringRef> = DType::string;

}  // namespace scanloom
