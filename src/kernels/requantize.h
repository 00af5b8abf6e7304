// From sums of products of quantized numbers to bytes. Compiled per instruction set
// (simd/requantize.inc); used by qlinear_conv.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// f32(sum + bias) * scale, rounded to nearest even, plus zero, limited to the range of the bytes;
/// NaN is 0. No sum + bias may overflow.
struct Requantize {
  const std::int32_t* sums = nullptr;
  std::int64_t count = 0;
  std::int32_t bias = 0, zero = 0;
  float scale = 1;
};
template <class T>
using RequantizeFn = void (*)(const Requantize& from, T* to);

}  // namespace scanloom::kernels
