// What blocks of linear recurrences need of their matrices: a basis, and powers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "opmath/linear_scan.h"

namespace scanloom::tensor {
namespace {

/// Powers of two states that grow more, where no basis is better, are not used.
constexpr double kMaxGrowth = 2;
constexpr int kSize = LinearMap<float>::kMax;

/// A number as the sum of two, of about 100 bits. Powers of thousands of steps would lose digits in
/// f64, and the same digits on every machine in no other way.
struct Twofold {
  double high = 0, low = 0;

  static Twofold sum(double a, double b) {
    const double high = a + b, of_b = high - a;
    return {high, (a - (high - of_b)) + (b - of_b)};
  }
  static Twofold product(double a, double b) {
    const auto upper = [](double x) {
      const double scaled = 134217729 * x;  // 2^27 + 1
      return scaled - (scaled - x);
    };
    const double a_high = upper(a), b_high = upper(b), a_low = a - a_high, b_low = b - b_high;
    const double high = a * b;
    return {high, ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low};
  }
  friend Twofold operator+(const Twofold& a, const Twofold& b) {
    const Twofold high = sum(a.high, b.high);
    return sum(high.high, high.low + (a.low + b.low));
  }
  friend Twofold operator*(const Twofold& a, const Twofold& b) {
    const Twofold high = product(a.high, b.high);
    return sum(high.high, high.low + (a.high * b.low + a.low * b.high));
  }
};

struct Matrix {
  Twofold of[kSize][kSize] = {};

  [[nodiscard]] double at(int row, int column) const { return of[row][column].high; }
  [[nodiscard]] bool is_finite() const {
    return std::isfinite(at(0, 0)) && std::isfinite(at(0, 1)) && std::isfinite(at(1, 0)) &&
           std::isfinite(at(1, 1));
  }
  [[nodiscard]] double largest() const {
    double result = 0;
    for (const auto& row : of)
      for (const Twofold& element : row) result = std::max(result, std::fabs(element.high));
    return result;
  }
};

Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix result;
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j)
      result.of[i][j] = a.of[i][0] * b.of[0][j] + a.of[i][1] * b.of[1][j];
  return result;
}

/// The inverse: its first approximation, improved once.
Matrix inverse(const Matrix& a) {
  const double determinant = a.at(0, 0) * a.at(1, 1) - a.at(0, 1) * a.at(1, 0);
  const double by = 1 / determinant;
  Matrix result;
  result.of[0][0].high = a.at(1, 1) * by;
  result.of[0][1].high = -a.at(0, 1) * by;
  result.of[1][0].high = -a.at(1, 0) * by;
  result.of[1][1].high = a.at(0, 0) * by;
  Matrix rest = a * result;  // 2 - rest, times the approximation, is exact to twice the digits
  for (int r = 0; r < kSize; ++r)
    for (int c = 0; c < kSize; ++c)
      rest.of[r][c] =
          Twofold{r == c ? 2.0 : 0.0, 0} + Twofold{-rest.of[r][c].high, -rest.of[r][c].low};
  return result * rest;
}

/// Rounds a number; beyond the range, where a conversion is undefined, to an infinity.
template <class T>
T in_range(double number) {
  constexpr auto kLargest = static_cast<double>(std::numeric_limits<T>::max());
  if (number > kLargest) return std::numeric_limits<T>::infinity();
  if (number < -kLargest) return -std::numeric_limits<T>::infinity();
  return static_cast<T>(number);
}

template <class T>
double without_tiny(double power) {
  return std::fabs(power) < static_cast<double>(std::numeric_limits<T>::min()) ? 0 : power;
}

/// How far the powers of a matrix grow at most, roughly.
double growth(Matrix power) {
  double most = 1;
  for (std::int64_t steps = 1; steps <= kLinearChunk; steps *= 2) {
    most = std::max(most, power.largest());
    power = power * power;
  }
  return most;
}

/// The columns of the basis in which A is a rotation times a number (complex eigenvalues) or
/// diagonal (real ones).
Matrix modes(const Matrix& a) {
  const double half = (a.at(0, 0) + a.at(1, 1)) / 2;
  const double difference = (a.at(0, 0) - a.at(1, 1)) / 2;
  const double square = difference * difference + a.at(0, 1) * a.at(1, 0);
  const double root = std::sqrt(std::fabs(square));
  Matrix basis;
  // An eigenvector of eigenvalue l is (l - a11, a10) or (a01, l - a00): take the larger one.
  const bool upper = std::fabs(a.at(0, 1)) >= std::fabs(a.at(1, 0));
  const auto set = [&](int column, double first, double second) {
    basis.of[0][column].high = first;
    basis.of[1][column].high = second;
  };
  const auto set_vector = [&](int column, double value) {
    const double first = upper ? a.at(0, 1) : value - a.at(1, 1);
    const double second = upper ? value - a.at(0, 0) : a.at(1, 0);
    // Not hypot, whose bits depend on the C library. Squares that overflow leave no basis.
    const double length = square < 0 ? 1 : std::sqrt(first * first + second * second);
    set(column, first / length, second / length);
  };
  set_vector(0, square < 0 ? half : half + root);
  if (square < 0)  // the real part is in column 0, the imaginary one is in a single element
    set(1, upper ? 0 : root, upper ? root : 0);
  else
    set_vector(1, half - root);
  return basis;
}

/// Computing in the basis multiplies errors by about its condition, computing without it by the
/// growth of the powers.
bool pays(const Matrix& a, const Matrix& basis) {
  const Matrix back = inverse(basis);  // not finite if the eigenvectors are parallel
  return basis.is_finite() && back.is_finite() && basis.largest() * back.largest() <= 4 * growth(a);
}

template <class T>
void add_powers(LinearMap<T>& map, const Matrix& a) {
  Matrix power = a;
  const auto keep = [&](double(&kept)[kSize][kSize]) {
    for (int r = 0; r < map.states; ++r)
      for (int c = 0; c < map.states; ++c) kept[r][c] = without_tiny<T>(power.at(r, c));
  };
  for (std::int64_t i = 0; i < kLinearBlock<T>; ++i) {
    for (int r = 0; r < map.states; ++r)
      for (int c = 0; c < map.states; ++c) {
        T& rounded = map.power[r][c][i];
        rounded = in_range<T>(without_tiny<T>(power.at(r, c)));
        // Where factors vary, their products are checked with the states.
        if (!map.varies || i == 0) map.has_blocks = map.has_blocks && std::isfinite(rounded);
      }
    if (i + 1 < kLinearBlock<T>) power = power * a;
  }
  keep(map.block_power);
  for (std::int64_t steps = kLinearBlock<T>; steps < kLinearChunk; steps *= 2)
    power = power * power;
  keep(map.chunk_power);
}

}  // namespace

template <class T>
LinearMap<T> linear_map(int states, int inputs, bool varies, std::span<const double> matrix,
                        std::span<const double> gain) {
  LinearMap<T> map;
  map.states = std::min(states, kSize);
  map.inputs = std::min(inputs, kSize);
  map.varies = varies;
  Matrix a, g;
  for (int r = 0; r < map.states; ++r) {
    for (int c = 0; c < map.states; ++c) {
      a.of[r][c].high = matrix[static_cast<std::size_t>(r * map.states + c)];
      map.matrix[r][c] = in_range<T>(a.at(r, c));
    }
    for (int k = 0; k < map.inputs; ++k) {
      g.of[r][k].high = gain[static_cast<std::size_t>(r * map.inputs + k)];
      map.gain[r][k] = in_range<T>(g.at(r, k));
    }
  }
  Matrix from, to;
  if (map.states == 2)
    if (const Matrix basis = modes(a); pays(a, basis)) {
      from = basis;
      to = inverse(basis);
      a = to * a * from;
      g = to * g;
      map.has_basis = true;
    }
  for (int r = 0; r < kSize; ++r)
    for (int c = 0; c < kSize; ++c) {
      map.from_basis[r][c] = from.at(r, c);
      map.to_basis[r][c] = to.at(r, c);
      map.row_basis[r][c] = in_range<T>(from.at(r, c));
      map.block_gain[r][c] = in_range<T>(g.at(r, c));
    }
  add_powers(map, a);
  // Powers that grow would multiply errors: steps are then taken one by one.
  const bool is_one_mode = map.states == 1 || map.has_basis;
  if (!varies && growth(a) > (is_one_mode ? 1 : kMaxGrowth)) map.has_blocks = false;
  return map;
}

template LinearMap<float> linear_map(int, int, bool, std::span<const double>,
                                     std::span<const double>);
template LinearMap<double> linear_map(int, int, bool, std::span<const double>,
                                      std::span<const double>);

}  // namespace scanloom::tensor
