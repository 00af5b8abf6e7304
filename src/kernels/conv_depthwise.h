// A convolution whose groups have one channel each, over one or two axes, without planes: windows
// are read from x, whose borders masks of the loads supply. With strides, some rows at a time are
// copied first, split by the phases of the stride. Used by kernel conv.
#pragma once

#include <cstdint>

#include "base/cpu.h"
#include "kernels/kernel.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// Channels of equal sizes, each of which meets a filter of its own.
template <class T>
struct Depthwise {
  const T* x = nullptr;  ///< elements of a row are adjacent
  std::int64_t x_channel = 0, x_row = 0, in_rows = 0, in_width = 0;
  const T* weights = nullptr;  ///< row-major
  std::int64_t w_filter = 0, kernel_rows = 0, kernel_width = 0;
  std::int64_t stride_rows = 1, stride_width = 1, dilation_rows = 1, dilation_width = 1;
  std::int64_t pad_rows = 0, pad_width = 0;
  const T* bias = nullptr;  ///< per filter, or null
  std::int64_t bias_step = 0;
  T* y = nullptr;  ///< rows are adjacent
  std::int64_t y_filter = 0, out_width = 0;
  std::int64_t channels = 0;
  std::int64_t first = 0, last = 0;  ///< rows of the result to compute, without `last`
  /// Memory for the rows of x that so many rows of the result meet, if there are strides:
  /// copied_elements() of it.
  T* copies = nullptr;
  std::int64_t copied_rows = 0;

  [[nodiscard]] bool has_strides() const { return stride_rows > 1 || stride_width > 1; }

  /// Rows of x from the first to the last one that adjacent rows of the result meet.
  [[nodiscard]] std::int64_t rows_met(std::int64_t rows) const {
    return (rows - 1) * stride_rows + (kernel_rows - 1) * dilation_rows + 1;
  }
  /// Columns from the first to the last one that the window of a result meets, by the stride.
  [[nodiscard]] std::int64_t reach() const {
    return (kernel_width - 1) * dilation_width / stride_width;
  }
  /// Elements of the copy of a row: columns of a block, and what their windows reach.
  [[nodiscard]] std::int64_t copied_row_elements() const;
  [[nodiscard]] std::int64_t copied_elements() const;
};

/// The widest kernel, whose masks are made once for many rows; columns of the result for which rows
/// of x are copied at a time, and elements that may be read after the copies.
inline constexpr std::int64_t kMaxDepthwiseWidth = 31, kDepthwiseColumns = 256, kCopiedSlack = 64;

/// The functions of one instruction set; null if its loads cannot be masked. Every element is the
/// sum over the taps in order of multiply-adds (base/dot.h) from 0; the bias is added last.
/// stride_width is 1 or 2, with a dilation_width of 1 if it is 2; with strides, windows reach at
/// most kMaxDepthwiseWidth columns.
struct DepthwiseTables {
  void (*f32)(const Depthwise<float>&) = nullptr;
  void (*f64)(const Depthwise<double>&) = nullptr;
};

/// The table that `isa` permits.
const DepthwiseTables& depthwise_tables(Isa isa);

/// Declines groups of several channels or filters, more than two axes, windows that are far apart,
/// wide kernels over one axis, and instruction sets without masked loads. Preconditions: those of
/// prepare_conv_planes.
Prepared prepare_conv_depthwise(const PrepareCtx& ctx, const tensor::ConvGeometry& geometry);

}  // namespace scanloom::kernels
