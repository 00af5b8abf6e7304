// Shared by argmax and argmin: the search for the index of the greatest or least element of each
// line. The order is that of ops/index/element_order.h: NaN is the greatest, -0 equals +0.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// Lines of `size` elements, `step` elements apart. The first elements of the `lanes` lines are
/// adjacent. The index found in line j goes to y[j * y_step].
template <class T>
struct ArgSearch {
  const T* x = nullptr;
  std::int64_t size = 0, step = 0, lanes = 1;
  std::int64_t* y = nullptr;
  std::int64_t y_step = 0;
  bool greatest = true;
  bool last = false;  ///< takes the last of equal elements instead of the first
};

/// Precondition: sizes are at least 1 and below 2^31.
template <class T>
using ArgSearchFn = void (*)(const ArgSearch<T>&);

/// Variants that search along, or across, an axis whose elements are adjacent.
struct ArgSearchFns {
  ArgSearchFn<float> f32;
  ArgSearchFn<double> f64;
  ArgSearchFn<std::int32_t> i32;
  ArgSearchFn<std::int64_t> i64;
};

/// Prepares the kernels argmax (`greatest`) and argmin.
Prepared prepare_arg_search(const PrepareCtx& ctx, bool greatest);
tensor::Status run_arg_search(const tensor::Call& call) noexcept;

}  // namespace scanloom::kernels
