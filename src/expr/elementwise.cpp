// Element-wise operators and functions.
#include <scanloom/expr.h>

#include "base/fp_environment.h"
#include "expr/apply.h"
#include "expr/complex_rules.h"
#include "expr/types.h"
#include "ir/evaluate.h"
#include "ops/ops.h"
#include "tensor/half.h"

namespace scanloom {

using expr::apply;

namespace {

/// Returns the operand in a type that numbers can be computed in: booleans count as 0 and 1.
Expr counted(const Expr& x) {
  if (!x.defined() || x.error() != nullptr || x.dtype() != DType::boolean) return x;
  return cast(x, DType::i8);
}

/// Returns both in one type that numbers can be computed in.
std::vector<Expr> numbers(const Expr& a, const Expr& b) {
  std::vector<Expr> both = expr::promoted({a, b});
  for (Expr& x : both) x = counted(x);
  return both;
}

Expr binary(const ir::OpDef& op, const Expr& a, const Expr& b) { return apply(op, numbers(a, b)); }

Expr real_function(const ir::OpDef& op, const Expr& x) {
  if (x.error() != nullptr) return x;
  return apply(op, {expr::converted(x, expr::real_of(x.dtype()))});
}

bool is_whole(const Expr& x) { return is_integer(x.dtype()) || x.dtype() == DType::boolean; }

Expr not_bits(const ir::OpDef& op, const Expr& x) {
  return expr::failed(
      fail(Code::invalid_argument,
           "{} of {} ({}): only booleans and integers are allowed; cast it to boolean", op.name,
           expr::describe(x), dtype_name(x.dtype())));
}

/// Booleans stay as they are, integers get their common type; anything else is an error.
Expr logical(const ir::OpDef& of_booleans, const ir::OpDef& of_integers, const Expr& a,
             const Expr& b) {
  std::vector<Expr> both = expr::promoted({a, b});
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  if (!is_whole(both[0])) return not_bits(of_integers, is_whole(a) ? b : a);
  const bool boolean = both[0].dtype() == DType::boolean;
  return apply(boolean ? of_booleans : of_integers, std::move(both));
}

/// numpy's floor_divide: (dividend - remainder) / divisor, whose quotient is whole except for
/// rounding; a / b if b is 0.
Expr floor_of_floats(const Expr& a, const Expr& b) {
  const Expr zero = number(0, a.dtype()), one = number(1, a.dtype());
  const Expr rest = apply(ops::mod_op, {a, b}, {{"fmod", 1}});
  const Expr below = not_equal(rest, zero) & ((b < zero) ^ (rest < zero));
  const Expr whole = (a - rest) / b - where(below, one, zero);
  const Expr least = floor(whole);
  const Expr near = where(number(0.5, a.dtype()) < whole - least, least + one, least);
  const Expr quotient = a / b;
  const Expr signed_zero = quotient * zero;
  // Rounded once more, so that the gradient is that of floor().
  return floor(where(equal(b, zero), quotient, where(equal(whole, zero), signed_zero, near)));
}

/// Returns the value of a scalar constant as a double; nullopt for other expressions.
std::optional<double> constant_number(const Expr& x) {
  if (!x.defined() || x.error() != nullptr || x.node()->kind != expr::Kind::constant ||
      x.rank() != 0)
    return std::nullopt;
  if (expr::is_complex(x.dtype())) {
    const auto im = expr::part_of_complex(x.node()->value, true);
    const auto re = expr::part_of_complex(x.node()->value, false);
    if (!re || !im || !expr::holds_only_zeros(*im)) return std::nullopt;
    return constant_number(expr::constant_of(*re));
  }
  const Expr wide = cast(x, DType::f64);
  if (wide.node()->kind != expr::Kind::constant) return std::nullopt;
  return wide.node()->value.as<double>()[0];
}

/// Converts the elements of a constant to another type now.
std::optional<Expr> cast_constant(const Expr& x, DType to) {
  constexpr std::int64_t kSmall = 64;
  const tensor::Tensor& value = x.node()->value;
  const bool loses_part = expr::is_complex(value.dtype()) && !expr::is_complex(to);
  if (value.elements() > kSmall || loses_part) return std::nullopt;
  const std::vector<tensor::Attr> attrs{to};
  const std::vector types{tensor::Type::of(to, value.shape())};
  const FpEnvironment environment;
  const auto results = ir::evaluate(ops::cast_op, {{value}}, attrs, types, kSmall);
  if (!results || !*results) return std::nullopt;
  return expr::constant_of((**results)[0]);
}

}  // namespace

Expr operator+(const Expr& a, const Expr& b) { return binary(ops::add_op, a, b); }
Expr operator-(const Expr& a, const Expr& b) { return binary(ops::sub_op, a, b); }
Expr operator*(const Expr& a, const Expr& b) { return binary(ops::mul_op, a, b); }

Expr operator/(const Expr& a, const Expr& b) {
  std::vector<Expr> both = numbers(a, b);
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  if (is_whole(both[0]))
    for (Expr& x : both) x = expr::converted(x, DType::f64);
  return apply(ops::div_op, std::move(both));
}

Expr operator-(const Expr& x) { return apply(ops::neg_op, {counted(x)}); }

Expr floor_divide(const Expr& a, const Expr& b) {
  if (Expr bad = expr::refused_complex("floor division", {a, b}); bad.defined()) return bad;
  const std::vector<Expr> both = numbers(a, b);
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  if (const DType dtype = both[0].dtype(); !is_whole(both[0])) {
    const DType computed = dtype == DType::f64 ? dtype : DType::f32;  // f16 too, as numpy does
    return cast(floor_of_floats(cast(both[0], computed), cast(both[1], computed)), dtype);
  }
  const Expr quotient = apply(ops::div_op, both);
  // Rounds towards zero, and subtracts one if there is a remainder and the signs differ. Division
  // by zero gives zero.
  const Expr rest = both[0] - quotient * both[1];
  const Expr zero = number(0, quotient.dtype());
  const Expr lower =
      not_equal(rest, zero) & not_equal(both[1], zero) & ((rest < zero) ^ (both[1] < zero));
  return quotient - cast(lower, quotient.dtype());
}

Expr remainder(const Expr& a, const Expr& b) {
  std::vector<Expr> both = numbers(a, b);
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  return apply(ops::mod_op, std::move(both), {{"fmod", 0}});
}

Expr pow(const Expr& a, const Expr& b) {
  std::vector<Expr> both = numbers(a, b);
  if (const Expr* bad = expr::first_failed(both)) return *bad;
  const std::optional<double> exponent = constant_number(both[1]);
  if (exponent == 2.0) return both[0] * both[0];
  if (exponent == 1.0) return both[0];
  // As Theano does: the last bits differ from those of pow.
  if (exponent == 3.0) return both[0] * both[0] * both[0];
  if (exponent == 0.5 && !is_whole(both[0])) return sqrt(both[0]);
  if (exponent == -1.0 && !is_whole(both[0])) return number(1, both[0].dtype()) / both[0];
  return apply(ops::pow_op, std::move(both));
}

Expr maximum(const Expr& a, const Expr& b) { return binary(ops::max_op, a, b); }
Expr minimum(const Expr& a, const Expr& b) { return binary(ops::min_op, a, b); }
Expr operator<(const Expr& a, const Expr& b) { return binary(ops::less_op, a, b); }
Expr operator<=(const Expr& a, const Expr& b) { return binary(ops::less_equal_op, a, b); }
Expr operator>(const Expr& a, const Expr& b) { return b < a; }
Expr operator>=(const Expr& a, const Expr& b) { return b <= a; }
Expr equal(const Expr& a, const Expr& b) { return binary(ops::equal_op, a, b); }
Expr not_equal(const Expr& a, const Expr& b) { return ~equal(a, b); }

Expr operator&(const Expr& a, const Expr& b) {
  return logical(ops::logical_and_op, ops::bit_and_op, a, b);
}
Expr operator|(const Expr& a, const Expr& b) {
  return logical(ops::logical_or_op, ops::bit_or_op, a, b);
}
Expr operator^(const Expr& a, const Expr& b) {
  return logical(ops::logical_xor_op, ops::bit_xor_op, a, b);
}
Expr operator~(const Expr& x) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  if (!is_whole(x)) return not_bits(ops::bit_not_op, x);
  return apply(x.dtype() == DType::boolean ? ops::logical_not_op : ops::bit_not_op, {x});
}

Expr where(const Expr& condition, const Expr& a, const Expr& b) {
  std::vector<Expr> sides = expr::promoted({a, b});
  return apply(ops::where_op, {cast(condition, DType::boolean), sides[0], sides[1]});
}

Expr clip(const Expr& x, const Expr& least, const Expr& greatest) {
  if (Expr bad = expr::refused_complex("clip", {x, least, greatest}); bad.defined()) return bad;
  return minimum(maximum(x, least), greatest);
}

Expr cast(const Expr& x, DType to) {
  if (Expr bad = expr::unusable(x); bad.defined()) return bad;
  if (x.dtype() == to) return x;
  if (x.node()->kind == expr::Kind::constant)
    if (const auto folded = cast_constant(x, to)) return expr::built_of(*folded, {{x}});
  return apply(ops::cast_op, {x}, {{"to", to}});
}

#define SCANLOOM_FUNCTION(name, python, doc) \
  Expr name(const Expr& x) { return real_function(ops::name##_op, x); }
#include <scanloom/functions.inc>
#undef SCANLOOM_FUNCTION

Expr abs(const Expr& x) { return apply(ops::abs_op, {counted(x)}); }
Expr sign(const Expr& x) { return apply(ops::sign_op, {counted(x)}); }
Expr square(const Expr& x) { return x * x; }
// As the front-ends' Composer writes it (ops/composer.h): f16 and bf16 are rounded once.
Expr tan(const Expr& x) {
  if (x.error() != nullptr) return x;
  if (expr::is_complex(x.dtype())) {  // -i tanh(i x), whose terms do not overflow
    const Expr turned = tanh(make_complex(-imag(x), real(x)));
    return make_complex(imag(turned), -real(turned));
  }
  const Expr wide = tensor::is_half(x.dtype()) ? cast(x, DType::f32) : x;
  const Expr quotient = sin(wide) / cos(wide);
  return cast(quotient, expr::real_of(x.dtype()));
}
Expr relu(const Expr& x) { return apply(ops::relu_op, {counted(x)}); }
Expr is_inf(const Expr& x) {
  if (x.error() != nullptr) return x;
  if (expr::is_complex(x.dtype())) return is_inf(real(x)) | is_inf(imag(x));
  return equal(abs(cast(x, expr::real_of(x.dtype()))),
               number(std::numeric_limits<double>::infinity(), expr::real_of(x.dtype())));
}

}  // namespace scanloom
