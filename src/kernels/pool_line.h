// The vector functions of the kernel pool, over the windows of one line of the result.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// One tap of all windows: y[i] meets x[i * step], 0 <= i < count.
template <class T>
struct PoolLine {
  const T* x = nullptr;
  std::int64_t step = 1, count = 0;
  T* y = nullptr;
  std::int32_t tap = 0;          ///< for maxima: this tap's number
  std::int32_t* taps = nullptr;  ///< for maxima: the taps taken so far; as wide as f32, for vectors
};

/// Splits a row of x into `step` phases, so that every tap of adjacent windows reads adjacent
/// elements: element i becomes element (first + i) / step of phase (first + i) % step. Writes
/// nothing else.
template <class T>
struct PoolSplit {
  const T* x = nullptr;
  std::int64_t count = 0, step = 1, first = 0;
  T* to = nullptr;
  std::int64_t phase = 0;  ///< elements from one phase to the next
};

/// All taps of all windows: y[i] folds rows[r][taps[k] + i] in the order of r, then k, starting
/// from the neutral element. Up to kPoolSlackBytes of every row and of the divisors may be read
/// after the last window.
template <class T>
struct PoolFold {
  const T* const* rows = nullptr;
  std::int64_t row_count = 0;
  const std::int64_t* taps = nullptr;
  std::int64_t tap_count = 0, count = 0;
  T* y = nullptr;
  const T* divisors = nullptr;  ///< for averages
};

/// Two vectors.
inline constexpr std::int64_t kPoolSlackBytes = 128;

template <class T>
struct PoolFns {
  void (*add)(const PoolLine<T>&);
  /// If x is greater, or is the first NaN: y and its tap become those of x.
  void (*take_greater)(const PoolLine<T>&);
  /// Returns whether any element is NaN.
  bool (*split)(const PoolSplit<T>&);
  void (*maximum)(const PoolFold<T>&);  ///< keeps the first of equal elements; there must be no NaN
  void (*maximum_or_nan)(const PoolFold<T>&);  ///< the first NaN if there is one
  /// Null for integer elements.
  void (*average)(const PoolFold<T>&);
  void (*sum_of_magnitudes)(const PoolFold<T>&);
  void (*root_of_squares)(const PoolFold<T>&);
};

}  // namespace scanloom::kernels
