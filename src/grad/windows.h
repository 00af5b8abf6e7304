// The windows of convolutions and pools, for their rules. Sizes that are known only at run time are
// expressions.
#pragma once

#include <vector>

#include "grad/rules.h"

namespace scanloom::autodiff {

/// One axis after the first two. Element o of the result sees o * stride - before + k * dilation, 0
/// <= k < kernel, of x, which has `before` and `after` elements of padding around it.
struct WindowAxis {
  Expr kernel;  ///< a scalar i64
  std::int64_t stride = 1, dilation = 1;
  Expr before, after;  ///< scalars i64
};

/// Reads the attributes strides, dilations, pads and auto_pad of p's node.
[[nodiscard]] std::vector<WindowAxis> window_axes(const Pull& p, const std::vector<Expr>& kernels);

/// Whether there may be padding.
[[nodiscard]] bool has_padding(const std::vector<WindowAxis>& axes);
/// Returns x with its padding, as zeros.
[[nodiscard]] Expr padded(const Expr& x, const std::vector<WindowAxis>& axes);
/// Returns the part of y where x is within its padding; zeros where y ends before x does.
[[nodiscard]] Expr unpadded(const Expr& y, const std::vector<WindowAxis>& axes, const Expr& x);

}  // namespace scanloom::autodiff
