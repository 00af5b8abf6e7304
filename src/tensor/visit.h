// Maps a DType to a C++ type, once, at the top of a kernel: visit_dtype(dtype, f) calls
// f(std::type_identity<T>{}) with the element's type in memory. visit_bytes uses only the size, for
// kernels that just move elements.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <scanloom/dtype.h>

#include "tensor/small_float.h"
#include "tensor/small_int.h"
#include "tensor/tensor.h"

namespace scanloom::tensor {

/// T is float, double, (u)intN_t, bool, std::complex<float or double>, StringRef, or a struct of
/// small_float.h (SmallFloatType) or small_int.h (SmallIntType).
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return std::forward<F>(f)(std::type_identity<float>{});
    case DType::u8:
      return std::forward<F>(f)(std::type_identity<std::uint8_t>{});
    case DType::i8:
      return std::forward<F>(f)(std::type_identity<std::int8_t>{});
    case DType::u16:
      return std::forward<F>(f)(std::type_identity<std::uint16_t>{});
    case DType::i16:
      return std::forward<F>(f)(std::type_identity<std::int16_t>{});
    case DType::i32:
      return std::forward<F>(f)(std::type_identity<std::int32_t>{});
    case DType::i64:
      return std::forward<F>(f)(std::type_identity<std::int64_t>{});
    case DType::string:
      return std::forward<F>(f)(std::type_identity<StringRef>{});
    case DType::boolean:
      return std::forward<F>(f)(std::type_identity<bool>{});
    case DType::f16:
      return std::forward<F>(f)(std::type_identity<Half>{});
    case DType::f64:
      return std::forward<F>(f)(std::type_identity<double>{});
    case DType::u32:
      return std::forward<F>(f)(std::type_identity<std::uint32_t>{});
    case DType::u64:
      return std::forward<F>(f)(std::type_identity<std::uint64_t>{});
    case DType::c64:
      return std::forward<F>(f)(std::type_identity<std::complex<float>>{});
    case DType::c128:
      return std::forward<F>(f)(std::type_identity<std::complex<double>>{});
    case DType::bf16:
      return std::forward<F>(f)(std::type_identity<BFloat16>{});
    case DType::f8e4m3fn:
      return std::forward<F>(f)(std::type_identity<F8E4M3FN>{});
    case DType::f8e4m3fnuz:
      return std::forward<F>(f)(std::type_identity<F8E4M3FNUZ>{});
    case DType::f8e5m2:
      return std::forward<F>(f)(std::type_identity<F8E5M2>{});
    case DType::f8e5m2fnuz:
      return std::forward<F>(f)(std::type_identity<F8E5M2FNUZ>{});
    case DType::u4:
      return std::forward<F>(f)(std::type_identity<UInt4>{});
    case DType::i4:
      return std::forward<F>(f)(std::type_identity<Int4>{});
    case DType::f4e2m1:
      return std::forward<F>(f)(std::type_identity<F4E2M1>{});
    case DType::f8e8m0:
      return std::forward<F>(f)(std::type_identity<F8E8M0>{});
    case DType::u2:
      return std::forward<F>(f)(std::type_identity<UInt2>{});
    case DType::i2:
      return std::forward<F>(f)(std::type_identity<Int2>{});
    case DType::u1:
      return std::forward<F>(f)(std::type_identity<UInt1>{});
    case DType::u3:
      return std::forward<F>(f)(std::type_identity<UInt3>{});
    case DType::u6:
      return std::forward<F>(f)(std::type_identity<UInt6>{});
    case DType::nf4:
      return std::forward<F>(f)(std::type_identity<NormalFloat4>{});
  }
  __builtin_unreachable();
}

/// Sixteen bytes moved together: complex128, string.
struct Bytes16 {
  std::uint64_t low, high;
};

/// f(std::type_identity<T>{}) with T an unsigned integer, or Bytes16, of dtype_bytes(dtype) bytes.
template <class F>
decltype(auto) visit_bytes(DType dtype, F&& f) {
  switch (dtype_bytes(dtype)) {
    case 1:
      return std::forward<F>(f)(std::type_identity<std::uint8_t>{});
    case 2:
      return std::forward<F>(f)(std::type_identity<std::uint16_t>{});
    case 4:
      return std::forward<F>(f)(std::type_identity<std::uint32_t>{});
    case 8:
      return std::forward<F>(f)(std::type_identity<std::uint64_t>{});
    default:
      return std::forward<F>(f)(std::type_identity<Bytes16>{});
  }
}

template <class T>
inline constexpr bool is_complex_type = false;
template <class T>
inline constexpr bool is_complex_type<std::complex<T>> = true;

/// Types with an order and arithmetic: all except complex numbers and strings (bool included).
template <class T>
concept RealOrInteger = std::is_arithmetic_v<T> || SmallFloatType<T> || SmallIntType<T>;

/// Converts to the type that elements of T are computed in: float for small floats, i64 for small
/// integers, else T.
template <class T>
[[nodiscard]] constexpr auto widen(T value) {
  if constexpr (SmallFloatType<T>)
    return value.to_float();
  else if constexpr (SmallIntType<T>)
    return value.to_int();
  else
    return value;
}

/// The inverse of widen: rounds to nearest even, or keeps the low bits.
template <class T, class From>
[[nodiscard]] constexpr T narrow(From value) {
  if constexpr (SmallFloatType<T>)
    return T::from(static_cast<double>(value));
  else if constexpr (SmallIntType<T>)
    return T::from(static_cast<std::int64_t>(value));
  else
    return static_cast<T>(value);
}

}  // namespace scanloom::tensor

namespace scanloom {
template <> inline constexpr DType dtype_of<std::complex<float>> = DType::c64;
template <> inline constexpr DType dtype_of<std::complex<double>> = DType::c128;
}  // namespace scanloom
