// Functions of complex numbers, by their parts. Branch cuts are those of C99 and numpy, and the
// sign of a zero says which side of a cut it is on. The inverse functions are Kahan's ("Branch cuts
// for complex elementary functions", 1987), which neither cancel nor overflow early.
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>

#include "expr/complex_ops.h"
#include "expr/complex_rules.h"
#include "expr/types.h"
#include "ops/ops.h"

namespace scanloom::expr {
namespace {

/// Whether x is below 0, or -0.
Expr is_negative(const Expr& x) { return where(equal(x, 0), 1 / x, x) < 0; }

/// Returns a size with the sign of `of`.
Expr with_sign(const Expr& size, const Expr& of) { return where(is_negative(of), -size, size); }

/// Returns the length of a vector, scaled by powers of two if squares would overflow or underflow.
Expr length(const Expr& x, const Expr& y) {
  const bool wide = x.dtype() == DType::f64;
  const double up = std::ldexp(1, wide ? 600 : 100), down = std::ldexp(1, wide ? -600 : -80);
  const Expr longest = maximum(abs(x), abs(y));
  const Expr is_large = std::ldexp(1, wide ? 500 : 60) < longest;
  const Expr is_small = longest < std::ldexp(1, wide ? -500 : -60);
  const auto number_of = [&](double value) { return number(value, x.dtype()); };
  const Expr one_ = number_of(1);
  const Expr scale = where(is_large, number_of(down), where(is_small, number_of(up), one_));
  const Expr back = where(is_large, number_of(1 / down), where(is_small, number_of(1 / up), one_));
  return sqrt(square(x * scale) + square(y * scale)) * back;
}
Expr length(const Parts& z) { return z.is_real() ? abs(z.re) : length(z.re, z.im); }

/// Returns the angle of the point (x, y). Quotients are at most 1.
Expr angle_of(const Expr& y, const Expr& x) {
  const Expr is_left = is_negative(x);
  const Expr is_flat = abs(y) <= abs(x);
  const Expr both = is_inf(x) & is_inf(y);
  const Expr divisor = where(is_flat, where(equal(x, 0), number(1, x.dtype()), x), y);
  const Expr ratio = where(is_flat, y, x) / divisor;
  const Expr arc = atan(where(
      both, where(is_negative(x) ^ is_negative(y), number(-1, x.dtype()), number(1, x.dtype())),
      ratio));
  const Expr turn = with_sign(number(std::numbers::pi, x.dtype()), y);
  const Expr quarter = with_sign(number(std::numbers::pi / 2, x.dtype()), y);
  return where(is_flat, where(is_left, arc + turn, arc), quarter - arc);
}

// The parts of z; the imaginary part of a real number is 0.
struct Point {
  Expr x, y;

  explicit Point(const Parts& z) : x(z.re), y(z.imaginary()) {}
  Point(Expr re, Expr im) : x(std::move(re)), y(std::move(im)) {}
  [[nodiscard]] Parts parts() const { return {x, y}; }
};

Point times_i(const Point& z) { return {-z.y, z.x}; }
Point times_minus_i(const Point& z) { return {z.y, -z.x}; }

Point sqrt_of(const Point& z) {
  // Not abs(x): a root of 0.5 x + 0.5 |z| has no kink at 0.
  const Expr size = where(z.x < 0, -z.x, z.x);
  const Expr root = sqrt(0.5 * size + 0.5 * length(z.x, z.y));
  const Expr other = where(equal(root, 0), z.y, z.y / (2 * root));
  const Expr left = z.x < 0;
  return {where(left, where(is_negative(z.y), -other, other), root),
          where(left, with_sign(root, z.y), other)};
}

/// Returns the logarithm of |z|; near 1 from the difference of |z| and 1.
Expr log_length(const Point& z) {
  const Expr size = length(z.x, z.y);
  const Expr a = maximum(abs(z.x), abs(z.y)), b = minimum(abs(z.x), abs(z.y));
  return where((0.5 < size) & (size < 2), 0.5 * log1p((a - 1) * (a + 1) + b * b), log(size));
}
Point log_of(const Point& z) { return {log_length(z), angle_of(z.y, z.x)}; }

/// An exponent without the part by which e^x would overflow. An infinity times an exact zero would
/// be NaN, and times a small factor an infinity even if the product is finite.
struct SplitExponent {
  Expr x;
  Expr rest;  ///< e^(half of the removed part)

  /// Returns the product of `power`, which is of the size of e^x, the removed part, and the factor.
  [[nodiscard]] Expr scaled(const Expr& power, const Expr& factor) const {
    return power * (rest * factor) * rest;
  }
};

/// Splits x if `size` is large: x for functions that grow as e^x, |x| for functions that grow both
/// ways.
SplitExponent split_exponent(const Expr& x, const Expr& size) {
  const bool wide = x.dtype() == DType::f64;
  const double most = wide ? 700 : 80, half = wide ? 300 : 30;
  const auto number_of = [&](double value) { return number(value, x.dtype()); };
  const Expr is_large = most < size, is_huge = most + 2 * half < size;
  // Beyond this, even the smallest number above 0 makes an infinity.
  const Expr left = where(is_huge, minimum(size - 4 * half, number_of(most)), size - 2 * half);
  const Expr rest = where(is_huge, number_of(std::exp(2 * half)), number_of(std::exp(half)));
  return {where(is_large, where(x < 0, -left, left), x), where(is_large, rest, number_of(1))};
}

Point exp_of(const Point& z) {
  const SplitExponent split = split_exponent(z.x, z.x);
  const Expr size = exp(split.x);
  return {split.scaled(size, cos(z.y)), split.scaled(size, sin(z.y))};
}

Point sinh_of(const Point& z) {
  const SplitExponent split = split_exponent(z.x, abs(z.x));
  return {split.scaled(sinh(split.x), cos(z.y)), split.scaled(cosh(split.x), sin(z.y))};
}
Point cosh_of(const Point& z) {
  const SplitExponent split = split_exponent(z.x, abs(z.x));
  return {split.scaled(cosh(split.x), cos(z.y)), split.scaled(sinh(split.x), sin(z.y))};
}
Point sin_of(const Point& z) { return times_minus_i(sinh_of(times_i(z))); }
Point cos_of(const Point& z) { return cosh_of(times_i(z)); }

/// Kahan's; if the square of the hyperbolic sine would overflow, its limit.
Point tanh_of(const Point& z) {
  const Expr limit = number(z.x.dtype() == DType::f64 ? 22 : 11, z.x.dtype());
  const Expr is_far = limit < abs(z.x);
  const Expr x = where(is_far, with_sign(limit, z.x), z.x);
  const Expr t = tan(z.y), s = sinh(x);
  const Expr beta = 1 + t * t, below = 1 + beta * s * s;
  const Expr rest = 4 * sin(z.y) * cos(z.y) * exp(-2 * abs(z.x));
  return {where(is_far, with_sign(number(1, x.dtype()), z.x), beta * sqrt(1 + s * s) * s / below),
          where(is_far, rest, t / below)};
}

Point asin_of(const Point& z) {
  const Point a = sqrt_of({1 - z.x, -z.y}), b = sqrt_of({1 + z.x, z.y});
  return {angle_of(z.x, a.x * b.x - a.y * b.y), asinh(a.x * b.y - a.y * b.x)};
}
Point acos_of(const Point& z) {
  const Point a = sqrt_of({1 - z.x, -z.y}), b = sqrt_of({1 + z.x, z.y});
  return {2 * angle_of(a.x, b.x), asinh(b.x * a.y - b.y * a.x)};
}
Point asinh_of(const Point& z) { return times_minus_i(asin_of(times_i(z))); }
Point acosh_of(const Point& z) {
  const Point a = sqrt_of({z.x - 1, z.y}), b = sqrt_of({z.x + 1, z.y});
  return {asinh(a.x * b.x + a.y * b.y), 2 * angle_of(a.y, b.x)};
}

/// For numbers on the right; others are mirrored. Far away the real part is about that of 1 / z.
Point atanh_of(const Point& z) {
  const Expr is_left = is_negative(z.x);
  const Expr x = abs(z.x), y = where(is_left, -z.y, z.y);
  const bool wide = x.dtype() == DType::f64;
  const Expr size = length(x, y);
  const Expr is_far = std::ldexp(1, wide ? 500 : 60) < size;
  const Expr one_ = number(1, x.dtype());
  const Expr near_x = where(is_far, one_, x), near_y = where(is_far, one_, y);
  const Expr gap = 1 - near_x;
  const Expr re = 0.25 * log1p(4 * near_x / (gap * gap + near_y * near_y));
  const Expr im = 0.5 * angle_of(2 * near_y, gap * (1 + near_x) - near_y * near_y);
  const Expr far_re = x / size / size;
  const Expr far_im = with_sign(number(std::numbers::pi / 2, x.dtype()), y);
  const Expr made_re = where(is_far, far_re, re), made_im = where(is_far, far_im, im);
  return {where(is_left, -made_re, made_re), where(is_left, -made_im, made_im)};
}
Point atan_of(const Point& z) { return times_minus_i(atanh_of(times_i(z))); }

/// exp(x) - 1, exact near 0: cos(y) - 1 is -2 sin(y / 2)^2.
Point expm1_of(const Point& z) {
  const Expr half = sin(0.5 * z.y);
  const SplitExponent split = split_exponent(z.x, z.x);
  return {split.scaled(expm1(split.x), cos(z.y)) - 2 * half * half,
          split.scaled(exp(split.x), sin(z.y))};
}
Point log1p_of(const Point& z) {
  const Point sum{1 + z.x, z.y};
  const Expr near = 0.5 * log1p(z.x * (2 + z.x) + z.y * z.y);
  return {where(length(z.x, z.y) < 0.5, near, log_length(sum)), angle_of(z.y, sum.x)};
}

template <Point (*kFunction)(const Point&)>
std::vector<Parts> by_parts(const ComplexCall& call) {
  return one(kFunction(Point(call.in(0))).parts());
}

/// Returns the value of a scalar constant, or of the sum or difference of two, as gradient rules
/// write exponents.
std::optional<double> constant_value(const Expr& x) {
  const Node& node = *x.node();
  if (x.rank() != 0) return std::nullopt;
  if (node.kind == Kind::constant) {
    const Expr wide = cast(x, DType::f64);
    return wide.node()->kind == Kind::constant ? std::optional(wide.node()->value.as<double>()[0])
                                               : std::nullopt;
  }
  if (node.op != &ops::add_op && node.op != &ops::sub_op) return std::nullopt;
  for (const Expr& operand : node.inputs)
    if (operand.node()->kind != Kind::constant) return std::nullopt;
  const auto a = constant_value(node.inputs[0]), b = constant_value(node.inputs[1]);
  if (!a || !b) return std::nullopt;
  return node.op == &ops::add_op ? *a + *b : *a - *b;
}

/// Returns the exponent if it is known to be a whole number of moderate size.
std::optional<int> whole_exponent(const Parts& w) {
  constexpr double kMax = 64;
  const auto value = w.is_real() ? constant_value(w.re) : std::nullopt;
  if (!value || *value != std::nearbyint(*value) || std::abs(*value) > kMax) return std::nullopt;
  return static_cast<int>(*value);
}

Parts whole_power(const Parts& z, int exponent) {
  if (exponent == 0) return {ones_like(z.re), {}};
  std::optional<Parts> power;
  Parts square = z;
  for (int rest = std::abs(exponent); rest > 0; rest /= 2) {
    if (rest % 2 == 1) power = power ? *power * square : square;
    if (rest > 1) square = square * square;
  }
  return exponent < 0 ? Parts{number(1, z.re.dtype()), {}} / *power : *power;
}

/// |z|^c e^(-d a), at the angle c a + d log|z|, for the exponent c + i d and the angle a of z.
std::vector<Parts> pow_parts(const ComplexCall& call) {
  const Parts &z = call.in(0), &w = call.in(1);
  if (const auto exponent = whole_exponent(w)) return one(whole_power(z, *exponent));
  const Point base(z);
  const Expr size = length(base.x, base.y), turn = angle_of(base.y, base.x);
  Expr power = pow(size, w.re), phase = w.re * turn;
  const Expr log_size = w.is_real() ? log(size) : log_length(base);
  Expr exponent = w.re * log_size;
  if (!w.is_real()) {
    power = power * exp(-w.im * turn);
    exponent = exponent - w.im * turn;
    phase = phase + w.im * where(equal(size, 0), 0 * size, log_size);
  }
  // A factor may overflow or underflow although the product does not.
  const auto number_of = [&](double value) { return number(value, size.dtype()); };
  const Expr is_kept = (0 < power) & (power < std::numeric_limits<double>::infinity());
  SplitExponent split = split_exponent(exponent, exponent);
  power = where(is_kept, power, exp(split.x));
  split.rest = where(is_kept, number_of(1), split.rest);
  return one({split.scaled(power, cos(phase)), split.scaled(power, sin(phase))});
}

std::vector<Parts> abs_parts(const ComplexCall& call) { return one({length(call.in(0)), {}}); }
std::vector<Parts> angle_parts(const ComplexCall& call) {
  const Point z(call.in(0));
  return one({angle_of(z.y, z.x), {}});
}

}  // namespace

std::span<const ComplexRow> complex_functions() {
  static const ComplexRow rows[] = {
      {&ops::abs_op, abs_parts, ComplexResult::real},
      {&angle_op, angle_parts, ComplexResult::real},
      {&ops::pow_op, pow_parts},
      {&ops::exp_op, by_parts<exp_of>},
      {&ops::expm1_op, by_parts<expm1_of>},
      {&ops::log_op, by_parts<log_of>},
      {&ops::log1p_op, by_parts<log1p_of>},
      {&ops::sqrt_op, by_parts<sqrt_of>},
      {&ops::sin_op, by_parts<sin_of>},
      {&ops::cos_op, by_parts<cos_of>},
      {&ops::sinh_op, by_parts<sinh_of>},
      {&ops::cosh_op, by_parts<cosh_of>},
      {&ops::tanh_op, by_parts<tanh_of>},
      {&ops::asin_op, by_parts<asin_of>},
      {&ops::acos_op, by_parts<acos_of>},
      {&ops::atan_op, by_parts<atan_of>},
      {&ops::asinh_op, by_parts<asinh_of>},
      {&ops::acosh_op, by_parts<acosh_of>},
      {&ops::atanh_op, by_parts<atanh_of>},
  };
  return rows;
}

}  // namespace scanloom::expr
