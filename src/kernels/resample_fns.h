// The sums of the resample kernel in vectors: each element of a result is a sum of few elements
// with weights, in order, from 0; weights of 0 are left out. Every product is rounded.
#pragma once

#include <cstdint>

namespace scanloom::kernels {

/// Whole rows: to[i] = weights[0] * rows[0][i] + weights[1] * rows[1][i] ...
template <class T>
struct ResampleRows {
  const T* const* rows = nullptr;
  const T* weights = nullptr;  ///< none is 0
  std::int64_t count = 0;      ///< of rows
  std::int64_t length = 0;     ///< of each row
  T* to = nullptr;
};

/// Along a row. Element o of the result has `taps` elements; tap t of them is
/// from[sources[t * length + o]], with weights[t * length + o].
template <class T>
struct ResampleLine {
  const T* from = nullptr;
  T* to = nullptr;
  std::int64_t size = 0, length = 0;  ///< elements of `from` and of `to`
  std::int64_t taps = 0;
  const std::int32_t* sources = nullptr;
  const T* weights = nullptr;
  bool has_zeros = false;  ///< whether some weight is 0
};

template <class T>
struct ResampleFns {
  void (*rows)(const ResampleRows<T>&);
  void (*line)(const ResampleLine<T>&);
};

}  // namespace scanloom::kernels
