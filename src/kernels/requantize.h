// Requantization: sums of quantized products to bytes. Compiled per instruction set
// (simd/byte_rows.inc); used by qlinear_conv.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// Computes f32(sum + bias) * scale, rounded to nearest even, plus zero, clamped to the range of
/// the byte type. NaN gives 0. Precondition: sum + bias does not overflow.
struct Requantize {
  const std::int32_t* sums = nullptr;
  std::int64_t count = 0;
  std::int32_t bias = 0, zero = 0;
  float scale = 1;
};
template <class T>
using RequantizeFn = void (*)(const Requantize& from, T* to);

}  // namespace scanloom::kernels
