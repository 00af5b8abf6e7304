// What blocks of linear recurrences need of their matrices: a basis, and powers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "opmath/linear_scan.h"

namespace scanloom::tensor {
namespace {

constexpr int kSize = LinearMap<float>::kMax;

struct Matrix {
  double of[kSize][kSize] = {};

  [[nodiscard]] double trace() const { return of[0][0] + of[1][1]; }
  [[nodiscard]] double determinant() const { return of[0][0] * of[1][1] - of[0][1] * of[1][0]; }
  [[nodiscard]] double largest() const {
    double result = 0;
    for (const auto& row : of)
      for (const double element : row) result = std::max(result, std::fabs(element));
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

Matrix inverse(const Matrix& a) {
  const double by = 1 / a.determinant();
  return {{{a.of[1][1] * by, -a.of[0][1] * by}, {-a.of[1][0] * by, a.of[0][0] * by}}};
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
/// diagonal (real ones). They have length 1.
Matrix modes(const Matrix& a) {
  const double half = a.trace() / 2, square = half * half - a.determinant();
  const double root = std::sqrt(std::fabs(square));
  Matrix basis;
  // An eigenvector of eigenvalue l is (l - a11, a10) or (a01, l - a00): take the larger one.
  const bool upper = std::fabs(a.of[0][1]) >= std::fabs(a.of[1][0]);
  const auto vector = [&](double real, int column) {
    basis.of[0][column] = upper ? a.of[0][1] : real - a.of[1][1];
    basis.of[1][column] = upper ? real - a.of[0][0] : a.of[1][0];
  };
  if (square >= 0) {
    vector(half + root, 0);
    vector(half - root, 1);
    for (int column = 0; column < kSize; ++column) {
      const double length = std::hypot(basis.of[0][column], basis.of[1][column]);
      for (auto& row : basis.of) row[column] /= length;
    }
    return basis;
  }
  vector(half, 0);  // the real part; the imaginary one is in a single element
  basis.of[0][1] = upper ? 0 : root;
  basis.of[1][1] = upper ? root : 0;
  const double length = std::max(std::hypot(basis.of[0][0], basis.of[1][0]), root);
  for (auto& row : basis.of)
    for (double& element : row) element /= length;
  return basis;
}

/// Computing in the basis multiplies errors by about its condition, computing without it by the
/// growth of the powers.
bool pays(const Matrix& a, const Matrix& basis) {
  const double condition = basis.largest() * inverse(basis).largest();
  return std::isfinite(condition) && condition <= 4 * growth(a);
}

template <class T>
void add_powers(LinearMap<T>& map, const Matrix& a) {
  Matrix power = a;
  const auto keep = [&](double(&kept)[kSize][kSize]) {
    for (int r = 0; r < map.states; ++r)
      for (int c = 0; c < map.states; ++c) kept[r][c] = without_tiny<T>(power.of[r][c]);
  };
  for (std::int64_t i = 0; i < kLinearBlock<T>; ++i) {
    for (int r = 0; r < map.states; ++r)
      for (int c = 0; c < map.states; ++c) {
        T& rounded = map.power[r][c][i];
        rounded = in_range<T>(without_tiny<T>(power.of[r][c]));
        // Where factors vary, their products are checked with the states.
        if (!map.varies || i == 0) map.is_finite = map.is_finite && std::isfinite(rounded);
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
      a.of[r][c] = matrix[static_cast<std::size_t>(r * map.states + c)];
      map.matrix[r][c] = in_range<T>(a.of[r][c]);
    }
    for (int k = 0; k < map.inputs; ++k) {
      g.of[r][k] = gain[static_cast<std::size_t>(r * map.inputs + k)];
      map.gain[r][k] = in_range<T>(g.of[r][k]);
    }
  }
  Matrix from{{{1, 0}, {0, 1}}};
  if (map.states == 2)
    if (const Matrix basis = modes(a); pays(a, basis)) {
      from = basis;
      map.has_basis = true;
    }
  const Matrix to = inverse(from);
  if (map.has_basis) {
    a = to * a * from;
    g = to * g;
  }
  for (int r = 0; r < kSize; ++r)
    for (int c = 0; c < kSize; ++c) {
      map.from_basis[r][c] = from.of[r][c];
      map.to_basis[r][c] = to.of[r][c];
      map.row_basis[r][c] = static_cast<T>(from.of[r][c]);
      map.block_gain[r][c] = in_range<T>(g.of[r][c]);
    }
  add_powers(map, a);
  return map;
}

template LinearMap<float> linear_map(int, int, bool, std::span<const double>,
                                     std::span<const double>);
template LinearMap<double> linear_map(int, int, bool, std::span<const double>,
                                      std::span<const double>);

}  // namespace scanloom::tensor
