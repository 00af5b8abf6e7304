#include "opmath/winograd.h"

namespace scanloom::tensor {
namespace {

// The transforms of fewer channels or filters take a good part of the time that products save: with
// AVX2, 16 to 16 gains nothing, 24 to 24 a fourth, and 64 to 64 almost a half.
constexpr std::int64_t kMinChannels = 24, kMinFilters = 24;
// Tiles of wider dilations have few results in images of the usual sizes.
constexpr std::int64_t kMaxDilation = 4;

/// Numbers of several filters, for which compilers use vectors.
struct OfFilters {
  std::array<double, kWinogradFilters> numbers{};

  friend OfFilters operator+(OfFilters a, const OfFilters& b) {
    for (std::size_t i = 0; i < a.numbers.size(); ++i) a.numbers[i] += b.numbers[i];
    return a;
  }
  friend OfFilters operator-(OfFilters a, const OfFilters& b) {
    for (std::size_t i = 0; i < a.numbers.size(); ++i) a.numbers[i] -= b.numbers[i];
    return a;
  }
  friend OfFilters operator*(OfFilters a, double b) {
    for (double& number : a.numbers) number *= b;
    return a;
  }
};

/// The product of G, whose rows are (1, 0, 0), (1, 1, 1) / 2, (1, -1, 1) / 2 and (0, 0, 1), with a
/// column.
template <class T>
std::array<T, 4> by_g(const T& a, const T& b, const T& c) {
  const T outer = a + c;
  return {a, (outer + b) * 0.5, (outer - b) * 0.5, c};
}

/// Calls store(part, U) for all elements of U, of weights that are element(row, column).
template <class T, class Element, class Store>
void transform_weights(Element&& element, Store&& store) {
  std::array<std::array<T, 4>, 3> columns{};
  for (std::size_t j = 0; j < 3; ++j)
    columns[j] = by_g<T>(element(0, j), element(1, j), element(2, j));
  for (std::size_t i = 0; i < 4; ++i) {
    const std::array<T, 4> line = by_g<T>(columns[0][i], columns[1][i], columns[2][i]);
    for (std::size_t j = 0; j < 4; ++j) store(4 * i + j, line[j]);
  }
}

}  // namespace

bool sums_by_winograd(const ConvGeometry& g) {
  const auto is = [](const auto& list, std::int64_t value) {
    return list[0] == value && list[1] == value;
  };
  return g.spatial == 2 && g.group == 1 && is(g.kernel, 3) && is(g.stride, 1) &&
         g.dilation[0] <= kMaxDilation && g.dilation[1] <= kMaxDilation &&
         g.channels >= kMinChannels && g.filters >= kMinFilters && is(live_taps(g).count, 3);
}

WinogradPatch winograd_weights(const float* g) {
  WinogradPatch u{};
  transform_weights<double>(
      [&](std::size_t i, std::size_t j) { return double{g[3 * i + j]}; },
      [&](std::size_t part, double value) { u[part] = static_cast<float>(value); });
  return u;
}

void winograd_weights(const float* g, std::int64_t filter, float* u, std::int64_t step) {
  const auto element = [&](std::size_t i, std::size_t j) {
    OfFilters all;
    for (std::size_t f = 0; f < all.numbers.size(); ++f)
      all.numbers[f] =
          g[static_cast<std::int64_t>(f) * filter + static_cast<std::int64_t>(3 * i + j)];
    return all;
  };
  transform_weights<OfFilters>(element, [&](std::size_t part, const OfFilters& value) {
    float* const to = u + static_cast<std::int64_t>(part) * step;
    for (std::size_t f = 0; f < value.numbers.size(); ++f)
      to[f] = static_cast<float>(value.numbers[f]);
  });
}

}  // namespace scanloom::tensor
