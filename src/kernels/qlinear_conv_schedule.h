// How a quantized convolution is computed, and where the elements of its windows are. Shared by the
// sources of the kernel qlinear_conv.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/byte_product.h"
#include "kernels/conv_unfold.h"
#include "kernels/pack_cache.h"
#include "kernels/qlinear_conv_few.h"
#include "kernels/simd.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels::qlinear_conv {

using tensor::ConvGeometry;

// Runs of positions that are unfolded together.
constexpr std::int64_t kRuns = 64;

struct QLinearConvSchedule {
  ConvGeometry geometry;
  const ProductFns<std::int32_t>* fns = nullptr;  ///< for pairs
  PairFns pair;
  const ByteTables* tables = nullptr;
  const QuadProductFns* quad_fns = nullptr;  ///< for bytes in quads; null: pairs
  /// The image is stored as quads of channels, which are those of the windows; with `in_place` it
  /// is also the matrix of windows. Otherwise quads are of adjacent k.
  bool of_channels = false, in_place = false;
  /// Quads whose weights, less their zero points, are no bytes: every filter has a shift that makes
  /// them bytes, and a row of ones is multiplied like one more filter of each group, since
  ///   sum of x w = sum of x (w - shift) + shift sum of x.
  bool is_shifted = false;
  std::int64_t k = 0, pairs = 0, positions = 0, image = 0;  ///< image: elements of x
  bool along_positions = true;  ///< vectors lie along positions, otherwise along filters
  UnfoldedRanges ranges;
  std::int64_t packed = 0;  ///< elements of a group's weights
  /// The weights less their zero points: rows of pairs, or panels. For quads: rows of quads of all
  /// filters, then the sums of the rows.
  std::shared_ptr<const void> weights;
  std::int64_t x_axis[tensor::kMaxSpatial] = {}, x_channel = 1;  ///< of the centred image
  /// The offset of each tap of the first window in a group of the centred image. Empty if the image
  /// is stored without its padding, because that is too wide.
  std::vector<std::int64_t> taps;

  /// Elements from one row of unfolded pairs to the next: an odd number of cache lines, because
  /// rows that are a power of two apart would evict each other from L1.
  static std::int64_t pair_row(std::int64_t count) { return ((count + 15) / 16 | 1) * 16; }
  /// Columns of the sums of a range: whole panels of quads.
  [[nodiscard]] std::int64_t columns(std::int64_t count) const {
    return quad_fns == nullptr ? count : panels_of(count) * kQuadColumns;
  }
  /// Quads of a window.
  [[nodiscard]] std::int64_t quads() const {
    return of_channels ? quads_of(geometry.channels) * geometry.kernel_positions() : quads_of(k);
  }
  /// Rows of weights of a group, as quads.
  [[nodiscard]] std::int64_t quad_rows() const { return geometry.filters + (is_shifted ? 1 : 0); }
  /// Bytes from one row of unfolded quads to the next, with what unfolding may write beyond it.
  [[nodiscard]] std::int64_t quad_row_bytes(std::int64_t count) const {
    return columns(count) * kQuad + kQuadSlackBytes;
  }
  /// 32-bit elements of the windows of a range, as quads.
  [[nodiscard]] std::int64_t window_elements() const {
    return in_place ? 0 : quads() * quad_row_bytes(ranges.size) / 4;
  }
  /// 32-bit elements of a slot: pairs or quads, sums, and the 16-bit numbers unfolded before they
  /// are paired.
  [[nodiscard]] std::int64_t slot_elements() const {
    if (quad_fns != nullptr) return window_elements() + quad_rows() * columns(ranges.size);
    return pairs * pair_row(ranges.size) +
           ((taps.empty() ? pairs : 0) + geometry.filters) * ranges.size;
  }
  /// Bytes of the image of a group.
  [[nodiscard]] std::int64_t group_bytes() const {
    if (of_channels) return quads_of(geometry.channels) * kQuad * x_channel;
    return geometry.channels * x_channel * (quad_fns == nullptr ? 2 : 1);
  }
  /// 32-bit elements of the image, with what may be read beyond it.
  [[nodiscard]] std::int64_t image_elements() const {
    constexpr std::int64_t kBeyond = std::max(kPairSlackBytes, 4 * kQuadSlackBytes);
    return (geometry.group * group_bytes() + kBeyond + 63) / 64 * 16;
  }
};

/// Finds where the first taps of positions [first, first + count) lie, as runs of adjacent ones.
/// Returns the number of runs, at most kRuns; they cover `done` positions.
std::int64_t find_runs(const QLinearConvSchedule& plan, std::int64_t first, std::int64_t count,
                       PairRun* runs, std::int64_t& done);

/// A weight less its zero point. Precondition: both operands are constant.
inline int weight_at(const PrepareCtx& ctx, const QLinearConvSchedule& plan, std::int64_t filter,
                     std::int64_t i) {
  const Operand &w = ctx.inputs[kW], &w_zero = ctx.inputs[kWZero];
  return byte_at(w, ctx.constants[kW], filter * plan.k + i) -
         byte_at(w_zero, ctx.constants[kWZero], of_filter(w_zero, filter));
}

/// Whether the weights less their zero points are signed bytes.
[[nodiscard]] bool weights_fit(const PrepareCtx& ctx, const QLinearConvSchedule& plan);

/// Packs the weights once for all bindings of a plan. `form` tells ways of packing apart.
template <class Make>
std::shared_ptr<const void> packed_once(const PrepareCtx& ctx, const QLinearConvSchedule& plan,
                                        std::int64_t form, const Make& make) {
  if (ctx.packs == nullptr) return make();
  const Operand &w = ctx.inputs[kW], &w_zero = ctx.inputs[kWZero];
  const ConvGeometry& g = plan.geometry;
  std::vector<std::int64_t> layout{static_cast<std::int64_t>(ctx.isa), form, g.group, g.filters,
                                   plan.k, static_cast<std::int64_t>(w.dtype),
                                   static_cast<std::int64_t>(w_zero.dtype), of_filter(w_zero, 1),
                                   // The zero points are another constant, which lives as long.
                                   reinterpret_cast<std::intptr_t>(ctx.constants[kWZero])};
  return ctx.packs->get(
      {ctx.constants[kW], static_cast<int>(KernelId::qlinear_conv), std::move(layout)}, make);
}

// Products of quads (qlinear_conv_quads.cpp).

/// The weights of a convolution of quads.
struct QuadWeights {
  const std::int8_t* rows = nullptr;     ///< [group * plan.quad_rows()][quads]
  const std::uint32_t* sums = nullptr;   ///< of the weights of each filter
  const std::int32_t* shifts = nullptr;  ///< per filter
};
/// Packs the weights less their zero points: weight(filter, i). Unless plan.is_shifted they must be
/// signed bytes.
std::shared_ptr<const void> pack_quads(
    const QLinearConvSchedule& plan, const std::function<int(std::int64_t, std::int64_t)>& weight);
QuadWeights quad_weights(const QLinearConvSchedule& plan);
/// Chooses how quads are made, and the ranges. Precondition: plan.quad_fns is set.
void place_quads(const Operand& x, QLinearConvSchedule& plan);
/// Writes image i as unsigned bytes in quads of channels. Precondition: plan.of_channels.
void write_quads(const QLinearConvSchedule& plan, const tensor::Call& call, std::int64_t i,
                 std::uint8_t* image);
/// Sums of a range for all rows of a group: [plan.quad_rows()][plan.columns(count)]. `x` is the
/// group of the image as unsigned bytes inside its padding; `windows` has room for them as quads.
void multiply_quads(const QLinearConvSchedule& plan, const std::uint8_t* x, std::int64_t group,
                    std::int64_t first, std::int64_t count, std::uint8_t* windows,
                    std::int32_t* sums);
/// Adds to the sums what the shifts took away. Precondition: plan.is_shifted.
void add_shifts(const QLinearConvSchedule& plan, std::int64_t group, std::int64_t count,
                std::int32_t* sums);

}  // namespace scanloom::kernels::qlinear_conv
