// One tap of the windows of a line of pooled elements: what the kernel pool does in vectors.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// y[i] meets x[i * step], 0 <= i < count.
template <class T>
struct PoolLine {
  const T* x = nullptr;
  std::int64_t step = 1, count = 0;
  T* y = nullptr;
  std::int32_t tap = 0;          ///< of maxima
  std::int32_t* taps = nullptr;  ///< and those that were taken; as wide as f32, for vectors
};

template <class T>
struct PoolFns {
  void (*add)(const PoolLine<T>&);
  /// Where x is greater, or the first NaN: y and its tap become those of x.
  void (*take_greater)(const PoolLine<T>&);
};

}  // namespace scanloom::kernels
