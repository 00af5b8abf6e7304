// What argmax and argmin share: the index of the extreme of each line, in the order of
// ops/index/element_order.h: NaN is the greatest, both zeros are alike.
#pragma once

#include <cstdint>

#include "kernels/kernel.h"

namespace scanloom::kernels {

/// Lines of `size` elements, `step` elements apart; the first elements of `lanes` lines are
/// neighbours. The index of line j goes to y[j * y_step].
template <class T>
struct ArgSearch {
  const T* x = nullptr;
  std::int64_t size = 0, step = 0, lanes = 1;
  std::int64_t* y = nullptr;
  std::int64_t y_step = 0;
  bool greatest = true;
  bool last = false;  ///< among equals the last one, not the first
};

/// Precondition: sizes of 1 or more, below 2^31.
template <class T>
using ArgSearchFn = void (*)(const ArgSearch<T>&);

/// Along an axis, or across one, whose elements are neighbours.
struct ArgSearchFns {
  ArgSearchFn<float> f32;
  ArgSearchFn<double> f64;
  ArgSearchFn<std::int32_t> i32;
  ArgSearchFn<std::int64_t> i64;
};

/// Of the kernels argmax and argmin.
Prepared prepare_arg_search(const PrepareCtx& ctx, bool greatest);
tensor::Status run_arg_search(const tensor::Call& call) noexcept;

}  // namespace scanloom::kernels
