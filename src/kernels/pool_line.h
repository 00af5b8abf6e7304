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

/// Splits rows of x into `step` phases, so that every tap of adjacent windows reads adjacent
/// elements: element i becomes element (first + i) / step of phase (first + i) % step. In each
/// phase, up to kPoolSlackBytes after a row may become neutral: what is there of the next row is
/// written afterwards.
template <class T>
struct PoolSplit {
  const T* x = nullptr;
  std::int64_t count = 0, step = 1, first = 0;
  T* to = nullptr;
  std::int64_t phase = 0;  ///< elements from one phase to the next
  std::int64_t rows = 1;
  std::int64_t x_row = 0, to_row = 0;  ///< elements from one row to the next
  T neutral{};
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

/// All taps of the windows of several lines, which are adjacent in the result: y[l * width + i]
/// folds x[l * x_line + taps[k] + i] in the order of k, starting from the neutral element. Up to
/// kPoolSlackBytes of x and of the divisors may be read after the last window.
template <class T>
struct PoolLines {
  const T* x = nullptr;
  std::int64_t x_line = 0, lines = 1, width = 0;
  const std::int64_t* taps = nullptr;
  std::int64_t tap_count = 0;
  T* y = nullptr;
  const T* divisors = nullptr;  ///< for averages, adjacent like y
};

/// Two vectors.
inline constexpr std::int64_t kPoolSlackBytes = 128;

/// The two ways to fold windows. Null for averages and norms of integers.
template <class T>
struct PoolFolds {
  void (*rows)(const PoolFold<T>&) = nullptr;
  void (*lines)(const PoolLines<T>&) = nullptr;
};

template <class T>
struct PoolFns {
  void (*add)(const PoolLine<T>&);
  /// If x is greater, or is the first NaN: y and its tap become those of x.
  void (*take_greater)(const PoolLine<T>&);
  /// Returns whether any element is NaN.
  bool (*split)(const PoolSplit<T>&);
  /// Whether any element is NaN. Where there are infinities, may return true without one.
  bool (*may_have_nan)(const T* x, std::int64_t count);
  PoolFolds<T> maximum;         ///< keeps the first of equal elements; there must be no NaN
  PoolFolds<T> maximum_or_nan;  ///< the first NaN if there is one
  PoolFolds<T> average, sum_of_magnitudes, root_of_squares;
};

}  // namespace scanloom::kernels
