#include "opmath/unit_roots.h"

#include <cmath>

namespace scanloom::tensor {

/// Arithmetic of pairs (Dekker, A floating-point technique for extending the available precision,
/// 1971), without fused multiply-add.
struct PairMath {
  using Pair = UnitRoots::Pair;
  using Point = UnitRoots::Point;

  /// 2 pi, rounded to a pair.
  static constexpr Pair kTurn{6.283185307179586, 2.4492935982947064e-16};

  static Pair sum_ordered(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
  }

  static Pair sum(double a, double b) {
    const double sum = a + b, part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
  }

  static Pair product(double a, double b) {
    constexpr double kSplit = 134217729;  // 2^27 + 1
    const double a_split = kSplit * a, b_split = kSplit * b;
    const double a_high = a_split - (a_split - a), b_high = b_split - (b_split - b);
    const double a_low = a - a_high, b_low = b - b_high, rounded = a * b;
    const double error =
        ((a_high * b_high - rounded) + a_high * b_low + a_low * b_high) + a_low * b_low;
    return {rounded, error};
  }

  static Pair add(Pair a, Pair b) {
    const Pair high = sum(a.high, b.high), low = sum(a.low, b.low);
    const Pair rest = sum_ordered(high.high, high.low + low.high);
    return sum_ordered(rest.high, rest.low + low.low);
  }

  static Pair negative(Pair a) { return {-a.high, -a.low}; }

  static Pair multiply(Pair a, Pair b) {
    const Pair high = product(a.high, b.high);
    return sum_ordered(high.high, high.low + (a.high * b.low + a.low * b.high));
  }

  static Pair divide(Pair a, double b) {
    const double quotient = a.high / b;
    const Pair back = product(quotient, b);
    return sum_ordered(quotient, ((a.high - back.high) - back.low + a.low) / b);
  }

  /// The Taylor series, for angles up to pi / 4 + 2 pi / 8.
  static Point point(Pair angle) {
    const Pair square = negative(multiply(angle, angle));
    Point result{.cos = {1, 0}, .sin = angle};
    Pair cos_term{1, 0}, sin_term = angle;
    for (int i = 1; i < 20 && std::fabs(cos_term.high) > 1e-36; ++i) {
      cos_term = divide(multiply(cos_term, square), (2.0 * i - 1) * (2.0 * i));
      sin_term = divide(multiply(sin_term, square), (2.0 * i) * (2.0 * i + 1));
      result.cos = add(result.cos, cos_term);
      result.sin = add(result.sin, sin_term);
    }
    return result;
  }

  /// The point at the sum of both angles.
  static Point turned(const Point& a, const Point& b) {
    return {.cos = add(multiply(a.cos, b.cos), negative(multiply(a.sin, b.sin))),
            .sin = add(multiply(a.sin, b.cos), multiply(a.cos, b.sin))};
  }
};

UnitRoots::UnitRoots(std::int64_t n) : n_(n), block_(1) {
  while (block_ * block_ < n) block_ *= 2;
  const auto angle = [&](std::int64_t eighths) {
    const auto turns = static_cast<double>(eighths);
    const PairMath::Pair scaled = PairMath::product(PairMath::kTurn.high, turns);
    const PairMath::Pair whole =
        PairMath::sum_ordered(scaled.high, scaled.low + PairMath::kTurn.low * turns);
    return PairMath::divide(whole, 8 * static_cast<double>(n));
  };
  for (std::int64_t i = 0; i < block_; ++i) fine_.push_back(PairMath::point(angle(i)));
  for (std::int64_t i = 0; i * block_ <= n; ++i)
    coarse_.push_back(PairMath::point(angle(i * block_)));
}

UnitRoots::Point UnitRoots::in_first_octant(std::int64_t eighths) const {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  return PairMath::turned(coarse_[at(eighths / block_)], fine_[at(eighths % block_)]);
}

UnitRoots::Root UnitRoots::operator()(std::int64_t k) const {
  // The angle is octant + rest / n eighths of a turn. It is mirrored into [0, 1/8], so that the
  // parts on the axes and diagonals are exact or equal.
  const std::int64_t octant = 8 * k / n_, rest = 8 * k % n_;
  const Point point = in_first_octant(octant % 2 == 0 ? rest : n_ - rest);
  const double c = point.cos.high, s = point.sin.high;
  switch (octant) {
    case 0:
      return {c, -s};
    case 1:
      return {s, -c};
    case 2:
      return {-s, -c};
    case 3:
      return {-c, -s};
    case 4:
      return {-c, s};
    case 5:
      return {-s, c};
    case 6:
      return {s, c};
    default:
      return {c, s};
  }
}

}  // namespace scanloom::tensor
