// The order of elements in argmax, argmin and topk: by value, -0 equal to +0, NaN above all.
#pragma once

#include "tensor/visit.h"

namespace scanloom::ops {

/// Returns a value below, equal to or above 0 as a is less than, equal to or greater than b.
template <tensor::RealOrInteger T>
[[nodiscard]] int compare(T a, T b) {
  const auto x = tensor::widen(a), y = tensor::widen(b);
  const bool x_is_nan = x != x, y_is_nan = y != y;
  if (x_is_nan || y_is_nan) return int{x_is_nan} - int{y_is_nan};
  return int{x > y} - int{x < y};
}

}  // namespace scanloom::ops
