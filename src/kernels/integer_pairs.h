// Integers that fit in 16 bits, two per 32-bit element with the first in the lower half. Products
// of pairs take half the time of products of 32-bit integers and are as exact. Used by contract and
// qlinear_conv.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// The elements that one tap of adjacent windows reads: `count` elements per run from `at` on,
/// `step` apart.
struct PairRun {
  std::int64_t at = 0, count = 0;
};
struct PairRuns {
  const std::int16_t* first = nullptr;  ///< paired element by element with `second`
  const std::int16_t* second = nullptr;
  const PairRun* runs = nullptr;
  std::int64_t run_count = 0, step = 1;
  std::int32_t* to = nullptr;  ///< receives one run after another
};
/// Bytes after a run that may be read.
inline constexpr std::int64_t kPairSlackBytes = 128;

/// The functions of one instruction set. Numbers beyond 16 bits are truncated.
struct PairFns {
  /// Writes to[i] = {from[2 i], from[2 i + 1]}; returns whether all of them fit in 16 bits.
  bool (*of_neighbours)(const std::int32_t* from, std::int64_t count, std::int32_t* to) = nullptr;
  /// Writes to[i] = {first[i], second[i]}; returns whether all of them fit in 16 bits.
  bool (*of_rows)(const std::int32_t* first, const std::int32_t* second, std::int64_t count,
                  std::int32_t* to) = nullptr;
  /// Writes to[i] = {first[i], second[i]} from 16-bit numbers, which always fit.
  void (*of_half_rows)(const std::int16_t* first, const std::int16_t* second, std::int64_t count,
                       std::int32_t* to) = nullptr;
  void (*of_runs)(const PairRuns&) = nullptr;
};

inline bool fits_half(std::int32_t value) { return value == static_cast<std::int16_t>(value); }

inline std::int32_t pair_of(std::int32_t first, std::int32_t second) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(first) & 0xffffU) |
                                   (static_cast<std::uint32_t>(second) << 16));
}

}  // namespace scanloom::kernels
