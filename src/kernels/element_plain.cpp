// The instructions of element programs as plain loops over columns, for the dtypes and operations
// without vector code.
#include <cmath>
#include <concepts>
#include <type_traits>

#include "base/cpu.h"
#include "base/with_fma.h"
#include "kernels/element_fns.h"
#include "tensor/scalar_arith.h"
#include "tensor/visit.h"

namespace scanloom::kernels {
namespace {

using tensor::ScalarOp;
namespace arith = tensor::arith;

template <class T>
inline constexpr bool kHasCompute = tensor::RealOrInteger<T>;

template <class T>
auto compute_of() {
  if constexpr (tensor::SmallFloatType<T>)
    return std::type_identity<float>{};
  else if constexpr (tensor::SmallIntType<T>)
    return std::type_identity<std::conditional_t<T::kSigned, std::int64_t, std::uint64_t>>{};
  else if constexpr (std::same_as<T, bool> || std::floating_point<T>)
    return std::type_identity<T>{};
  else
    return std::type_identity<
        std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>{};
}
template <class T>
using Compute = typename decltype(compute_of<T>())::type;

template <class T>
T& at(std::byte* column, std::int64_t i) {
  return reinterpret_cast<T*>(column)[i];
}
/// Normalizes a boolean: callers may pass any byte.
template <class T>
T at(const std::byte* column, std::int64_t i) {
  if constexpr (std::same_as<T, bool>)
    return column[i] != std::byte{0};
  else
    return reinterpret_cast<const T*>(column)[i];
}

/// Wraps a captureless functor as a function over columns.
template <class Out, class In, class F>
ElementFn unary(F) {
  return [](std::byte* out, const std::byte* a, const std::byte*, const std::byte*,
            std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) at<Out>(out, i) = F{}(at<In>(a, i));
  };
}
template <class Out, class In, class F>
ElementFn binary(F) {
  return [](std::byte* out, const std::byte* a, const std::byte* b, const std::byte*,
            std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) at<Out>(out, i) = F{}(at<In>(a, i), at<In>(b, i));
  };
}

template <class C>
ElementFn comparison(ScalarOp op) {
  if (op == ScalarOp::equal) return binary<bool, C>([](C a, C b) { return a == b; });
  if (op == ScalarOp::less) return binary<bool, C>([](C a, C b) { return a < b; });
  if (op == ScalarOp::less_equal) return binary<bool, C>([](C a, C b) { return a <= b; });
  if constexpr (std::floating_point<C>) {
    if (op == ScalarOp::is_nan) return unary<bool, C>([](C a) { return a != a; });
    if (op == ScalarOp::is_inf) return unary<bool, C>([](C a) { return std::isinf(a); });
  } else if constexpr (!std::same_as<C, bool>) {
    return unary<bool, C>([](C) { return false; });
  }
  return nullptr;
}

template <class R>
SCANLOOM_WITH_FMA void fused_columns(std::byte* out, const std::byte* a, const std::byte* b,
                                     const std::byte* c, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    if constexpr (sizeof(R) == sizeof(float))
      at<R>(out, i) = __builtin_fmaf(at<R>(a, i), at<R>(b, i), at<R>(c, i));
    else
      at<R>(out, i) = __builtin_fma(at<R>(a, i), at<R>(b, i), at<R>(c, i));
}

template <class R>
void multiply_add_columns(std::byte* out, const std::byte* a, const std::byte* b,
                          const std::byte* c, std::int64_t count) {
  if (has_fma()) return fused_columns<R>(out, a, b, c, count);
  for (std::int64_t i = 0; i < count; ++i) {
    const R product = at<R>(a, i) * at<R>(b, i);
    at<R>(out, i) = product + at<R>(c, i);
  }
}

template <std::floating_point R>
ElementFn arithmetic(ScalarOp op, int) {
  switch (op) {
    case ScalarOp::mod_floor:
      return binary<R, R>([](R a, R b) { return arith::modulo(a, b); });
    case ScalarOp::mod_trunc:
      return binary<R, R>([](R a, R b) { return arith::remainder(a, b); });
    case ScalarOp::sign:
      return unary<R, R>([](R a) { return arith::sign(a); });
    case ScalarOp::mul_add:
      return multiply_add_columns<R>;
    default:
      return nullptr;
  }
}

template <arith::Whole W>
ElementFn rounding(ScalarOp op) {
  const bool rounds = op == ScalarOp::floor || op == ScalarOp::ceil || op == ScalarOp::trunc ||
                      op == ScalarOp::round_even;
  return rounds ? unary<W, W>([](W a) { return a; }) : nullptr;
}

template <arith::Whole W, int kWidth>
ElementFn shift(ScalarOp op) {
  if (op == ScalarOp::shift_left)
    return binary<W, W>([](W a, W b) { return arith::shift_left(a, b, kWidth); });
  return binary<W, W>([](W a, W b) { return arith::shift_right(a, b, kWidth); });
}

template <arith::Whole W>
ElementFn shift_of_width(ScalarOp op, int width) {
  switch (width) {
    case 8:
      return shift<W, 8>(op);
    case 16:
      return shift<W, 16>(op);
    case 32:
      return shift<W, 32>(op);
    case 64:
      return shift<W, 64>(op);
    default:
      return nullptr;
  }
}

template <arith::Whole W>
ElementFn arithmetic(ScalarOp op, int width) {
  using arith::bits, arith::wrap;
  switch (op) {
    case ScalarOp::add:
      return binary<W, W>([](W a, W b) { return wrap<W>(bits(a) + bits(b)); });
    case ScalarOp::sub:
      return binary<W, W>([](W a, W b) { return wrap<W>(bits(a) - bits(b)); });
    case ScalarOp::mul:
      return binary<W, W>([](W a, W b) { return wrap<W>(bits(a) * bits(b)); });
    case ScalarOp::div:
      return binary<W, W>([](W a, W b) { return arith::divide(a, b); });
    case ScalarOp::mod_floor:
      return binary<W, W>([](W a, W b) { return arith::modulo(a, b); });
    case ScalarOp::mod_trunc:
      return binary<W, W>([](W a, W b) { return arith::remainder(a, b); });
    case ScalarOp::min:
      return binary<W, W>([](W a, W b) { return a < b ? a : b; });
    case ScalarOp::max:
      return binary<W, W>([](W a, W b) { return a < b ? b : a; });
    case ScalarOp::pow:
      return binary<W, W>([](W a, W b) { return arith::power(a, b); });
    case ScalarOp::neg:
      return unary<W, W>([](W a) { return wrap<W>(0 - bits(a)); });
    case ScalarOp::abs:
      return unary<W, W>([](W a) { return a < 0 ? wrap<W>(0 - bits(a)) : a; });
    case ScalarOp::sign:
      return unary<W, W>([](W a) { return arith::sign(a); });
    case ScalarOp::bit_and:
      return binary<W, W>([](W a, W b) { return a & b; });
    case ScalarOp::bit_or:
      return binary<W, W>([](W a, W b) { return a | b; });
    case ScalarOp::bit_xor:
      return binary<W, W>([](W a, W b) { return a ^ b; });
    case ScalarOp::bit_not:
      return unary<W, W>([](W a) { return ~a; });
    case ScalarOp::shift_left:
    case ScalarOp::shift_right:
      return shift_of_width<W>(op, width);
    default:
      return rounding<W>(op);
  }
}

template <std::same_as<bool> B>
ElementFn arithmetic(ScalarOp op, int) {
  switch (op) {
    case ScalarOp::min:
    case ScalarOp::bit_and:
    case ScalarOp::logical_and:
      return binary<B, B>([](B a, B b) { return a && b; });
    case ScalarOp::max:
    case ScalarOp::bit_or:
    case ScalarOp::logical_or:
      return binary<B, B>([](B a, B b) { return a || b; });
    case ScalarOp::bit_xor:
    case ScalarOp::logical_xor:
      return binary<B, B>([](B a, B b) { return a != b; });
    case ScalarOp::bit_not:
    case ScalarOp::logical_not:
      return unary<B, B>([](B a) { return !a; });
    default:
      return nullptr;
  }
}

template <class C>
ElementFn plain(ScalarOp op, int width) {
  return tensor::scalar_op_compares(op) ? comparison<C>(op) : arithmetic<C>(op, width);
}

template <class C>
ElementFn convert_to(DType to) {
  return tensor::visit_dtype(to, []<class T>(std::type_identity<T>) -> ElementFn {
    if constexpr (kHasCompute<T>)
      return unary<T, C>([](C value) { return arith::cast<T>(value); });
    else
      return nullptr;
  });
}

/// The types between which a cast is one conversion of the language: integers and booleans to those
/// and to floating point.
template <class T>
inline constexpr bool kIsNative = std::is_arithmetic_v<T>;

template <class From>
ElementFn direct_from(DType to) {
  return tensor::visit_dtype(to, []<class To>(std::type_identity<To>) -> ElementFn {
    if constexpr (kIsNative<To> && std::same_as<From, bool>)  // has vectors as a byte
      return unary<To, std::uint8_t>(
          [](std::uint8_t value) { return static_cast<To>(value != 0 ? 1 : 0); });
    else if constexpr (kIsNative<To>)
      return unary<To, From>([](From value) { return arith::cast<To>(value); });
    else
      return nullptr;
  });
}

}  // namespace

ElementFn direct_fn(DType from, DType to) {
  return tensor::visit_dtype(from, [to]<class From>(std::type_identity<From>) -> ElementFn {
    if constexpr (std::is_integral_v<From>)
      return direct_from<From>(to);
    else
      return nullptr;
  });
}

DType compute_dtype(DType dtype) {
  switch (dtype_kind(dtype)) {
    case DTypeKind::real:
      return dtype == DType::f64 ? DType::f64 : DType::f32;
    case DTypeKind::signed_int:
      return DType::i64;
    case DTypeKind::unsigned_int:
      return DType::u64;
    case DTypeKind::boolean:
      return DType::boolean;
    case DTypeKind::complex:
    case DTypeKind::text:
      return dtype;
  }
  return dtype;
}

ElementFn plain_fn(ScalarOp op, DType dtype, int width) {
  switch (dtype) {
    case DType::f32:
      return plain<float>(op, width);
    case DType::f64:
      return plain<double>(op, width);
    case DType::i64:
      return plain<std::int64_t>(op, width);
    case DType::u64:
      return plain<std::uint64_t>(op, width);
    case DType::boolean:
      return plain<bool>(op, width);
    default:
      return nullptr;
  }
}

ElementFn widen_fn(DType dtype) {
  return tensor::visit_dtype(dtype, []<class T>(std::type_identity<T>) -> ElementFn {
    if constexpr (kHasCompute<T>)
      return unary<Compute<T>, T>(
          [](T value) { return static_cast<Compute<T>>(tensor::widen(value)); });
    else
      return nullptr;
  });
}

ElementFn narrow_fn(DType dtype) {
  return tensor::visit_dtype(dtype, []<class T>(std::type_identity<T>) -> ElementFn {
    if constexpr (kHasCompute<T>)
      return unary<T, Compute<T>>([](Compute<T> value) { return tensor::narrow<T>(value); });
    else
      return nullptr;
  });
}

ElementFn convert_fn(DType from, DType to) {
  switch (from) {
    case DType::f32:
      return convert_to<float>(to);
    case DType::f64:
      return convert_to<double>(to);
    case DType::i64:
      return convert_to<std::int64_t>(to);
    case DType::u64:
      return convert_to<std::uint64_t>(to);
    case DType::boolean:
      return convert_to<bool>(to);
    default:
      return nullptr;
  }
}

}  // namespace scanloom::kernels
