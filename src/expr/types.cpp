#include "expr/types.h"

#include <algorithm>

namespace scanloom::expr {
namespace {

int bits(DType dtype) { return dtype_file_bits(dtype); }

DType signed_of(int width) {
  return width <= 8 ? DType::i8 : width <= 16 ? DType::i16 : width <= 32 ? DType::i32 : DType::i64;
}

DType promote_integers(DType a, DType b) {
  const bool a_signed = dtype_kind(a) == DTypeKind::signed_int;
  const bool b_signed = dtype_kind(b) == DTypeKind::signed_int;
  if (a_signed == b_signed) return bits(a) >= bits(b) ? a : b;
  const DType plain = a_signed ? a : b, natural = a_signed ? b : a;
  if (bits(plain) > bits(natural)) return plain;
  return bits(natural) == 64 ? DType::f64 : signed_of(2 * bits(natural));
}

DType real_with_integer(DType real, DType integer) {
  if (bits(integer) <= 8 || bits(real) == 64) return real;
  if (bits(integer) <= 16) return bits(real) < 32 ? DType::f32 : real;
  return DType::f64;
}

bool is_weak(const Expr& x) { return x.node()->weak; }

thread_local constinit std::uint64_t adapted = 0;

/// Returns the type of a number combined with tensors of type `other`.
DType combined_with(const Expr& number, DType other) {
  const DType own = type_of(number).dtype;
  if (is_complex(other)) return other;
  if (is_complex(own) && is_floating_point(other)) return complex_of(other);
  return is_floating_point(other) ? other : promote(own, other);
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (a == DType::boolean) return b;
  if (b == DType::boolean) return a;
  if (is_complex(a) || is_complex(b)) {
    const bool wide = a == DType::c128 || b == DType::c128 || a == DType::f64 || b == DType::f64 ||
                      (is_integer(a) && bits(a) > 16) || (is_integer(b) && bits(b) > 16);
    return wide ? DType::c128 : DType::c64;
  }
  if (is_floating_point(a) && is_floating_point(b)) {
    if (bits(a) == bits(b)) return DType::f32;  // f16 with bf16
    return bits(a) > bits(b) ? a : b;
  }
  if (is_floating_point(a)) return real_with_integer(a, b);
  if (is_floating_point(b)) return real_with_integer(b, a);
  return promote_integers(a, b);
}

DType common_dtype(std::span<const Expr> xs) {
  std::optional<DType> common;
  const auto take = [&](DType dtype) { common = common ? promote(*common, dtype) : dtype; };
  for (const Expr& x : xs)
    if (x.defined() && !is_weak(x)) take(type_of(x).dtype);
  const std::optional<DType> tensors = common;
  for (const Expr& x : xs) {
    if (!x.defined() || !is_weak(x)) continue;
    take(tensors ? combined_with(x, *tensors) : type_of(x).dtype);
    if (tensors && x.node()->kind != Kind::constant &&
        promote(type_of(x).dtype, *tensors) != *common)
      ++adapted;
  }
  return common.value_or(DType::f32);
}

std::uint64_t adaptations() { return adapted; }

std::vector<Expr> promoted(std::vector<Expr> xs) {
  if (first_failed(xs) != nullptr) return xs;
  const DType common = common_dtype(xs);
  for (Expr& x : xs)
    if (x.defined()) x = converted(x, common);
  return xs;
}

DType part_of(DType dtype) {
  return dtype == DType::c64 ? DType::f32 : dtype == DType::c128 ? DType::f64 : dtype;
}

DType complex_of(DType dtype) { return promote(dtype, DType::c64); }

Expr converted(const Expr& x, DType to) {
  if (x.error() != nullptr || x.dtype() == to) return x;
  Expr other = cast(x, to);
  if (other.error() == nullptr) other.node()->weak = is_weak(x);
  return other;
}

DType real_of(DType dtype) {
  if (is_floating_point(dtype) || is_complex(dtype)) return dtype;
  return bits(dtype) <= 16 ? DType::f32 : DType::f64;
}

}  // namespace scanloom::expr
