// The windows of convolutions and pools, for their rules: sizes that only a run knows are
// expressions.
#pragma once

#include <vector>

#include "grad/rules.h"

namespace scanloom::autodiff {

/// One axis behind the first two: element o of the result sees o * stride - before + k * dilation,
/// 0 <= k < kernel, of x between as many elements of padding `before` and `after` it.
struct WindowAxis {
  Expr kernel;  ///< a scalar i64
  std::int64_t stride = 1, dilation = 1;
  Expr before, after;  ///< scalars i64
};

/// From the attributes strides, dilations, pads and auto_pad of p's node.
[[nodiscard]] std::vector<WindowAxis> window_axes(const Pull& p, const std::vector<Expr>& kernels);

/// Whether there is any padding, as far as it is known.
[[nodiscard]] bool has_padding(const std::vector<WindowAxis>& axes);
/// x between its padding, as zeros.
[[nodiscard]] Expr padded(const Expr& x, const std::vector<WindowAxis>& axes);
/// What lies in y where x lies in its padding; zeros where y ends before x does.
[[nodiscard]] Expr unpadded(const Expr& y, const std::vector<WindowAxis>& axes, const Expr& x);

}  // namespace scanloom::autodiff
