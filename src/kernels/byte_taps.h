// Windows over lines of bytes whose sums become bytes in registers: depthwise convolutions, on
// machines with AVX-512 VNNI. Used by qlinear_conv.
#pragma once

#include <cstdint>

#include "base/cpu.h"

namespace scanloom::kernels {

/// Lines of windows over unsigned bytes. Sum j of a line is over quads of taps i,
///   x[j * step + offsets[i] + t] * (byte t of weights[i], which is signed), for t from 0 to 3.
/// The results are as in Requantize (requantize.h). Up to kByteTapSlack bytes after those of the
/// last window may be read.
struct ByteTaps {
  const std::uint8_t* x = nullptr;
  std::int64_t step = 1;  ///< 1 or 2
  std::int64_t count = 0, quads = 0;
  const std::int64_t* offsets = nullptr;
  const std::int32_t* weights = nullptr;
  std::int32_t bias = 0, zero = 0;  ///< the sum with the bias fits in 32 bits
  float scale = 1;                  ///< finite
};
inline constexpr std::int64_t kByteTapSlack = 256;
/// Results that are computed at a time: shorter lines take as long.
inline constexpr std::int64_t kByteTapResults = 64;

/// Lines of bytes that are copied, each XORed with `flip`.
struct ByteLines {
  const std::uint8_t* from = nullptr;
  std::int64_t from_step = 0;
  std::uint8_t* to = nullptr;
  std::int64_t to_step = 0;
  std::int64_t lines = 0, length = 0;
  std::uint8_t flip = 0;
};

struct ByteTapFns {
  /// Both write `count` bytes.
  void (*u8)(const ByteTaps& taps, std::uint8_t* to) = nullptr;
  void (*i8)(const ByteTaps& taps, std::int8_t* to) = nullptr;
  void (*copy)(const ByteLines& lines) = nullptr;
};

/// The functions that `isa` and this machine permit; null if there are none.
const ByteTapFns* byte_taps(Isa isa);

}  // namespace scanloom::kernels
