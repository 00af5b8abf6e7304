// Quantized convolution of small images, such as those of a loop's steps. The positions of a
// window's elements are computed at binding; a run gathers each window once and multiplies it by
// the weights of all filters.
#include "kernels/qlinear_conv_few.h"

#include <concepts>
#include <limits>
#include <memory>
#include <vector>

namespace scanloom::kernels::qlinear_conv {
namespace {

using tensor::Call;
using tensor::ConvGeometry;
using tensor::Status;

constexpr std::int64_t kFewProducts = 1024;
// Marks padding. Not -1: offsets in reversed images are negative.
constexpr std::int64_t kPadding = std::numeric_limits<std::int64_t>::min();

struct Windows {
  ConvGeometry geometry;
  std::int64_t k = 0, positions = 0;
  std::vector<std::int64_t> offsets;  ///< [positions][k], offsets in a group of x; kPadding: zero
  std::vector<std::int16_t> weights;  ///< [group * filters][k], less their zero points
};

/// Appends where the taps of one window lie, channel by channel.
void add_offsets(const ConvGeometry& g, const Operand& x, std::int64_t position, Windows& windows) {
  std::int64_t start[tensor::kMaxSpatial], tap[tensor::kMaxSpatial] = {};
  for (int axis = g.spatial - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    start[i] = position % g.out[i] * g.stride[i] - g.pad[i];
    position /= g.out[i];
  }
  for (std::int64_t at = 0; at < windows.k; ++at) {
    std::int64_t offset = at / g.kernel_positions() * x.strides[1];
    bool inside = true;
    for (int axis = 0; axis < g.spatial; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const std::int64_t on_axis = start[i] + tap[i] * g.dilation[i];
      inside &= on_axis >= 0 && on_axis < g.in[i];
      // Positions outside x may be so far away that their offsets overflow.
      if (inside) offset += on_axis * x.strides[axis + 2];
    }
    windows.offsets.push_back(inside ? offset : kPadding);
    for (int axis = g.spatial - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      if (++tap[i] < g.kernel[i]) break;
      tap[i] = 0;
    }
  }
}

void add_weights(const PrepareCtx& ctx, Windows& windows) {
  const Operand &w = ctx.inputs[kW], &w_zero = ctx.inputs[kWZero];
  for (std::int64_t f = 0; f < windows.geometry.group * windows.geometry.filters; ++f) {
    const int zero = byte_at(w_zero, ctx.constants[kWZero], of_filter(w_zero, f));
    for (std::int64_t i = 0; i < windows.k; ++i)
      windows.weights.push_back(
          static_cast<std::int16_t>(byte_at(w, ctx.constants[kW], f * windows.k + i) - zero));
  }
}

template <class Y>
Y finished(const Call& call, std::int64_t filter, std::int64_t sum) {
  if constexpr (std::same_as<Y, std::int32_t>) {
    return static_cast<std::int32_t>(sum);
  } else {
    const Operand& w_scale = call.in(kWScale);
    const float x_scale = *call.in(kXScale).data<const float>();
    const float y_scale = *call.in(kYScale).data<const float>();
    const float scale = w_scale.data<const float>()[of_filter(w_scale, filter)];
    const float scaled = static_cast<float>(sum) * (x_scale * scale / y_scale);
    return limited<Y>(scaled, byte_at(call.in(kYZero), 0));
  }
}

template <class Y>
void finish_window(const Windows& windows, const Call& call, const std::int16_t* window,
                   std::int64_t group, Y* y) {
  const std::int64_t filters = windows.geometry.filters;
  for (std::int64_t f = group * filters; f < (group + 1) * filters; ++f) {
    const std::int16_t* const weights = windows.weights.data() + f * windows.k;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < windows.k; ++i)
      sum += std::int32_t{window[i]} * std::int32_t{weights[i]};
    if (call.has(kBias))
      sum += call.in(kBias).data<const std::int32_t>()[f * call.in(kBias).strides[0]];
    y[f * call.out(0).strides[1]] = finished<Y>(call, f, sum);
  }
}

template <class X, class Y>
Status run_windows(const Call& call) noexcept {
  const Windows& windows = *static_cast<const Windows*>(call.prepared);
  const ConvGeometry& g = windows.geometry;
  const Operand &x = call.in(kX), &y = call.out(0);
  const int zero = byte_at(call.in(kXZero), 0);
  std::int16_t window[kFewProducts];
  for (std::int64_t image = 0; image < g.batch; ++image)
    for (std::int64_t group = 0; group < g.group; ++group) {
      const X* from = x.data<const X>() + image * x.strides[0] + group * g.channels * x.strides[1];
      const std::int64_t* offsets = windows.offsets.data();
      for (std::int64_t position = 0; position < windows.positions; ++position) {
        for (std::int64_t i = 0; i < windows.k; ++i, ++offsets)
          window[i] = *offsets == kPadding ? std::int16_t{0}
                                           : static_cast<std::int16_t>(from[*offsets] - zero);
        finish_window(windows, call, window, group, y.data<Y>() + image * y.strides[0] + position);
      }
    }
  return Status::ok;
}

}  // namespace

bool has_few_products(const ConvGeometry& g) {
  // Checked factor by factor, so that no product overflows.
  std::int64_t products = 1;
  for (const std::int64_t count :
       {g.batch, g.group, g.filters, g.channels, g.kernel_positions(), g.out_positions()}) {
    if (count > kFewProducts) return false;
    products *= count;
    if (products > kFewProducts) return false;
  }
  return products > 0;
}

Prepared prepare_few_products(const PrepareCtx& ctx, const ConvGeometry& geometry) {
  auto windows = std::make_shared<Windows>();
  windows->geometry = geometry;
  windows->k = geometry.channels * geometry.kernel_positions();
  windows->positions = geometry.out_positions();
  for (std::int64_t position = 0; position < windows->positions; ++position)
    add_offsets(geometry, ctx.inputs[kX], position, *windows);
  add_weights(ctx, *windows);
  return {.state = std::move(windows),
          .run = run_of_bytes(
              ctx, []<class X, class Y>() -> tensor::KernelFn { return run_windows<X, Y>; })};
}

}  // namespace scanloom::kernels::qlinear_conv
