// Convolutions of 3x3 by Winograd's minimal filtering F(2x2, 3x3): 16 products per channel give the
// four results of a tile of 2x2, instead of 36 (Lavin and Gray, "Fast Algorithms for Convolutional
// Neural Networks", 2015). Defines the order of such sums for the reference of conv and its kernel.
//
// The results of a tile, and the 4x4 elements d of x that it reads, are as far apart as the taps of
// the kernel: along an axis with dilation n, results r and r + n form a tile, for r mod 2 n < n.
// Padding and whatever is beyond x are zeros. With g the 3x3 weights of a filter and a channel, and
// the matrices of winograd_weights, winograd_input and winograd_output:
//
//   U = G g G', V = B' d B, M = the sums over the channels of U V by element, Y = A' M A
//
// U is computed in f64 and rounded to f32 once; V and Y are rounded to f32 after each addition. The
// sums over the channels are multiply-adds (base/dot.h), from 0. Each result depends on the
// elements of its own window only, and on all of them, so it is not finite if one of these is not.
// Results that are not finite, also because a transform has overflowed, are replaced by the sum in
// the order of other convolutions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "opmath/conv_geometry.h"

namespace scanloom::tensor {

/// Elements of a patch, and of transformed weights, inputs and sums.
inline constexpr int kWinogradParts = 16;

/// Whether convolutions whose sums are accumulated in f32 take them in this order: dense ones of
/// 3x3 with stride 1, a dilation of at most 4, and enough channels and filters that the transforms
/// pay. Depends neither on the batch nor, unless there is only padding under a side of the kernel,
/// on the size of x.
bool sums_by_winograd(const ConvGeometry& geometry);

/// Returns the number of tiles over so many results of an axis.
constexpr std::int64_t winograd_tiles(std::int64_t results, std::int64_t dilation) {
  const std::int64_t whole = results / (2 * dilation);
  return whole * dilation + std::min(results - 2 * whole * dilation, dilation);
}

/// Returns the position of a tile's first result; the second one is after `dilation` positions.
constexpr std::int64_t first_of_tile(std::int64_t tile, std::int64_t dilation) {
  return tile / dilation * (2 * dilation) + tile % dilation;
}

/// Row-major.
using WinogradPatch = std::array<float, kWinogradParts>;

/// Returns U of 9 adjacent weights.
WinogradPatch winograd_weights(const float* g);

/// Filters that are transformed together.
inline constexpr int kWinogradFilters = 8;

/// Stores U of several filters, whose weights begin `filter` elements after one another: those of a
/// part are adjacent, `step` elements after those of the part before.
void winograd_weights(const float* g, std::int64_t filter, float* u, std::int64_t step);

/// Returns V.
constexpr WinogradPatch winograd_input(const WinogradPatch& d) {
  WinogradPatch t{}, v{};
  for (std::size_t j = 0; j < 4; ++j) {
    t[j] = d[j] - d[8 + j];
    t[4 + j] = d[4 + j] + d[8 + j];
    t[8 + j] = d[8 + j] - d[4 + j];
    t[12 + j] = d[4 + j] - d[12 + j];
  }
  for (std::size_t i = 0; i < kWinogradParts; i += 4) {
    v[i] = t[i] - t[i + 2];
    v[i + 1] = t[i + 1] + t[i + 2];
    v[i + 2] = t[i + 2] - t[i + 1];
    v[i + 3] = t[i + 1] - t[i + 3];
  }
  return v;
}

/// Returns Y, row-major.
constexpr std::array<float, 4> winograd_output(const WinogradPatch& m) {
  std::array<float, 8> s{};
  for (std::size_t j = 0; j < 4; ++j) {
    s[j] = (m[j] + m[4 + j]) + m[8 + j];
    s[4 + j] = (m[4 + j] - m[8 + j]) - m[12 + j];
  }
  std::array<float, 4> y{};
  for (std::size_t i = 0; i < 2; ++i) {
    y[2 * i] = (s[4 * i] + s[4 * i + 1]) + s[4 * i + 2];
    y[2 * i + 1] = (s[4 * i + 1] - s[4 * i + 2]) - s[4 * i + 3];
  }
  return y;
}

}  // namespace scanloom::tensor
