#include "opmath/winograd.h"

namespace scanloom::tensor {
namespace {

// The transforms of fewer channels or filters take a good part of the time that products save: with
// AVX2, 16 to 16 gains nothing, 24 to 24 a fourth, and 64 to 64 almost a half.
constexpr std::int64_t kMinChannels = 24, kMinFilters = 24;
// Tiles of wider dilations have few results in images of the usual sizes.
constexpr std::int64_t kMaxDilation = 4;

/// The product of G, whose rows are (1, 0, 0), (1, 1, 1) / 2, (1, -1, 1) / 2 and (0, 0, 1), with a
/// column.
constexpr std::array<double, 4> by_g(double a, double b, double c) {
  const double outer = a + c;
  return {a, (outer + b) * 0.5, (outer - b) * 0.5, c};
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

WinogradPatch winograd_weights(const float* g, std::int64_t row, std::int64_t column) {
  std::array<std::array<double, 4>, 3> columns{};
  for (std::size_t j = 0; j < 3; ++j) {
    const float* const at = g + static_cast<std::int64_t>(j) * column;
    columns[j] = by_g(double{at[0]}, double{at[row]}, double{at[2 * row]});
  }
  WinogradPatch u{};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::array<double, 4> line = by_g(columns[0][i], columns[1][i], columns[2][i]);
    for (std::size_t j = 0; j < 4; ++j) u[4 * i + j] = static_cast<float>(line[j]);
  }
  return u;
}

}  // namespace scanloom::tensor
