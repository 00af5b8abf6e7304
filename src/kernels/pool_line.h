// The windows of a line of pooled elements: what the kernel pool does in vectors.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// One tap of all windows: y[i] meets x[i * step], 0 <= i < count.
template <class T>
struct PoolLine {
  const T* x = nullptr;
  std::int64_t step = 1, count = 0;
  T* y = nullptr;
  std::int32_t tap = 0;          ///< of maxima
  std::int32_t* taps = nullptr;  ///< and those that were taken; as wide as f32, for vectors
};

/// A row of x in `step` phases: element i becomes element (first + i) / step of phase
/// (first + i) % step, so that every tap of the windows finds neighbours. Nothing else is written.
template <class T>
struct PoolSplit {
  const T* x = nullptr;
  std::int64_t count = 0, step = 1, first = 0;
  T* to = nullptr;
  std::int64_t phase = 0;  ///< elements from one phase to the next
};

/// All taps of all windows: y[i] is made of rows[r][taps[k] + i] in the order of r and k, from the
/// fold's neutral element on. Behind the last window, kPoolSlackBytes of every row and of the
/// divisors may be read.
template <class T>
struct PoolFold {
  const T* const* rows = nullptr;
  std::int64_t row_count = 0;
  const std::int64_t* taps = nullptr;
  std::int64_t tap_count = 0, count = 0;
  T* y = nullptr;
  const T* divisors = nullptr;  ///< of averages
};

/// Two vectors.
inline constexpr std::int64_t kPoolSlackBytes = 128;

template <class T>
struct PoolFns {
  void (*add)(const PoolLine<T>&);
  /// Where x is greater, or the first NaN: y and its tap become those of x.
  void (*take_greater)(const PoolLine<T>&);
  /// Whether an element is NaN.
  bool (*split)(const PoolSplit<T>&);
  void (*maximum)(const PoolFold<T>&);         ///< of equal ones the first; there are no NaNs
  void (*maximum_or_nan)(const PoolFold<T>&);  ///< the first NaN if there is one
  /// Null where elements are integers.
  void (*average)(const PoolFold<T>&);
  void (*sum_of_magnitudes)(const PoolFold<T>&);
  void (*root_of_squares)(const PoolFold<T>&);
};

}  // namespace scanloom::kernels
