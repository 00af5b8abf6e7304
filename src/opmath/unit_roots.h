// Roots of unity, the factors of Fourier transforms.
#pragma once

#include <cstdint>
#include <vector>

namespace scanloom::tensor {

/// Computes exp(-2 pi i k / n) for one n. Both parts are correctly rounded, except where the exact
/// value is within 2^-95 of the middle between two doubles. Only IEEE additions, multiplications
/// and divisions are used, so the bits are the same on every machine, which the C library does not
/// promise. Const member functions may be called from several threads.
class UnitRoots {
 public:
  struct Root {
    double re, im;
  };

  /// Precondition: 1 <= n <= 2^40. Takes time and memory of about 2 sqrt(n).
  explicit UnitRoots(std::int64_t n);

  /// Precondition: 0 <= k < n.
  [[nodiscard]] Root operator()(std::int64_t k) const;

 private:
  /// A number as the sum of two, which has about 106 bits.
  struct Pair {
    double high, low;
  };
  struct Point {
    Pair cos, sin;
  };
  friend struct PairMath;

  [[nodiscard]] Point in_first_octant(std::int64_t eighths) const;

  std::int64_t n_, block_;
  std::vector<Point> coarse_, fine_;  ///< angles i block / (8 n) and i / (8 n) turns
};

}  // namespace scanloom::tensor
