// 32-bit integers that 16 bits hold, two by two in 32-bit elements: the first one in the lower
// half. Products of pairs take half as long as those of wide integers, and are as exact. Used by
// contract and qlinear_conv.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// Elements of lines that a tap of neighbouring windows meets: of each run `count` from `at` on,
/// `step` apart.
struct PairRun {
  std::int64_t at = 0, count = 0;
};
struct PairRuns {
  const std::int16_t* first = nullptr;  ///< with a second one in pairs
  const std::int16_t* second = nullptr;
  const PairRun* runs = nullptr;
  std::int64_t run_count = 0, step = 1;
  std::int32_t* to = nullptr;  ///< run after run
};
/// Bytes behind a run that may be read.
inline constexpr std::int64_t kPairSlackBytes = 128;

/// The functions of one instruction set. What 16 bits do not hold is cut off.
struct PairFns {
  /// to[i] = {from[2 i], from[2 i + 1]}; whether 16 bits hold all of them.
  bool (*of_neighbours)(const std::int32_t* from, std::int64_t count, std::int32_t* to) = nullptr;
  /// to[i] = {first[i], second[i]}; whether 16 bits hold all of them.
  bool (*of_rows)(const std::int32_t* first, const std::int32_t* second, std::int64_t count,
                  std::int32_t* to) = nullptr;
  /// The same of numbers that have 16 bits.
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
