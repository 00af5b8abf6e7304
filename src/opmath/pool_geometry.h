// The windows of average_pool, lp_pool and max_pool: their attributes, sizes and iteration. Used by
// the operators and by their kernel.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "base/expected.h"
#include "opmath/conv_geometry.h"
#include "tensor/attr.h"
#include "tensor/call.h"
#include "tensor/for_each.h"

namespace scanloom::tensor {

/// The attributes that all pools begin with. Attribute `kPoolOwn` is specific to the operator.
enum class PoolAttr : std::uint8_t { auto_pad, ceil_mode, dilations, kernel, pads, strides };
inline constexpr int kPoolOwn = 6;

/// Element o of an axis of the result reads the elements o * stride - pad + k * dilation of x, 0 <=
/// k < kernel, that exist; `covered` elements from -pad on count as padding or x.
struct PoolAxis {
  std::int64_t in = 0, out = 0, kernel = 1, stride = 1, dilation = 1, pad = 0, covered = 0;
};

struct PoolGeometry {
  int spatial = 0;
  std::array<PoolAxis, kMaxSpatial> axes{};
};

/// Precondition: x has at least three axes. Errors: invalid_model, for attributes that do not fit.
Expected<PoolGeometry> pool_geometry(const Shape& x, std::span<const Attr> attrs);

/// How the windows of a pool are padded.
enum class PoolPadding : std::uint8_t { given, same_upper, same_lower, valid };

/// The attributes, checked and complete.
struct PoolAttrs {
  PoolPadding padding = PoolPadding::given;
  bool ceil = false;
  std::array<std::int64_t, kMaxSpatial> kernel{}, stride{}, dilation{}, begin{}, end{};
};

/// Errors: invalid_model.
Expected<PoolAttrs> read_pool_attrs(std::span<const Attr> attrs, int spatial);

/// Spatial axis i over this many elements. Errors: invalid_model, for a window that does not fit.
Expected<PoolAxis> resolve_pool_axis(const PoolAttrs& attrs, std::size_t i, std::int64_t in);

[[nodiscard]] inline bool is_same(PoolPadding padding) {
  return padding == PoolPadding::same_upper || padding == PoolPadding::same_lower;
}

/// The taps of one window along one axis that are inside x: k in [first, last).
struct PoolTaps {
  std::int64_t first = 0, last = 0;
};

[[nodiscard]] inline std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return b == 1 ? a : (a + b - 1) / b;
}

/// The taps of window `o` within the elements [begin, end) of the axis, which need not exist.
[[nodiscard]] inline PoolTaps taps_within(const PoolAxis& axis, std::int64_t o, std::int64_t begin,
                                          std::int64_t end) {
  const std::int64_t start = o * axis.stride - axis.pad;
  PoolTaps taps;
  taps.first = start >= begin ? 0 : std::min(axis.kernel, divided_up(begin - start, axis.dilation));
  taps.last = start >= end ? 0 : std::min(axis.kernel, divided_up(end - start, axis.dilation));
  taps.last = std::max(taps.last, taps.first);
  return taps;
}

/// The windows [begin, end) of the axis whose taps are all inside x.
struct PoolWhole {
  std::int64_t begin = 0, end = 0;
};
[[nodiscard]] inline PoolWhole whole_windows(const PoolAxis& axis) {
  // The last position from which all taps are inside x; values are small enough not to overflow.
  const std::int64_t last = axis.in - 1 - (axis.kernel - 1) * axis.dilation + axis.pad;
  PoolWhole whole;
  whole.begin = std::min(axis.out, (axis.pad + axis.stride - 1) / axis.stride);
  whole.end = last < 0 ? 0 : std::min(axis.out, last / axis.stride + 1);
  whole.end = std::max(whole.begin, whole.end);
  return whole;
}

/// A window over one plane of x: the taps of each axis and the position of the first one.
struct PoolWindow {
  std::array<PoolTaps, kMaxSpatial> taps{};
  std::int64_t first = 0;  ///< offset of the first tap of each axis, if all axes have one
};

/// The window of the element at this position. The offset of the first tap is valid only if all
/// axes have taps: otherwise it may be so far away that it would overflow.
[[nodiscard]] inline PoolWindow window_at(const PoolGeometry& geometry, const Operand& x,
                                          const Shape& position) {
  PoolWindow window;
  for (int i = 0; i < geometry.spatial; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const PoolAxis& axis = geometry.axes[at];
    const PoolTaps taps = taps_within(axis, position[i], 0, axis.in);
    window.taps[at] = taps;
    if (taps.first == taps.last) continue;
    window.first +=
        (position[i] * axis.stride - axis.pad + taps.first * axis.dilation) * x.strides[i + 2];
  }
  return window;
}

/// How many elements along the axis window `o` averages over: those of x, or also padding.
[[nodiscard]] inline std::int64_t averaged_along(const PoolAxis& axis, std::int64_t o,
                                                 bool with_padding) {
  const PoolTaps taps = with_padding ? taps_within(axis, o, -axis.pad, axis.covered - axis.pad)
                                     : taps_within(axis, o, 0, axis.in);
  return taps.last - taps.first;
}

/// How many elements a window averages over along all axes; may exceed 64 bits.
[[nodiscard]] inline double averaged_elements(const PoolGeometry& geometry, const Shape& position,
                                              bool with_padding) {
  double count = 1;
  for (int i = 0; i < geometry.spatial; ++i)
    count *= static_cast<double>(
        averaged_along(geometry.axes[static_cast<std::size_t>(i)], position[i], with_padding));
  return count;
}

/// Calls f(offset in x, offsets in the results, position, window) for every element of the results,
/// images and channels first. The offset in x is that of the plane's first element.
template <std::size_t kResults, class F>
void for_each_window(const PoolGeometry& geometry, const Operand& x,
                     const std::array<const Operand*, kResults>& results, F&& f) {
  const Operand& y = *results[0];
  if (y.empty()) return;
  const std::span out(y.dims + 2, static_cast<std::size_t>(geometry.spatial));
  for (std::int64_t image = 0; image < y.dims[0]; ++image)
    for (std::int64_t channel = 0; channel < y.dims[1]; ++channel) {
      const std::int64_t plane = image * x.strides[0] + channel * x.strides[1];
      for_each_index(out, [&](const Shape& position) {
        const PoolWindow window = window_at(geometry, x, position);
        std::array<std::int64_t, kResults> at{};
        for (std::size_t i = 0; i < kResults; ++i)
          at[i] = image * results[i]->strides[0] + channel * results[i]->strides[1] +
                  offset_of(position, results[i]->strides + 2);
        f(plane, at, position, window);
      });
    }
}

/// Calls f(offset from the plane's first element) for every element of x in the window, in
/// row-major order.
template <class F>
void for_each_tap(const PoolGeometry& geometry, const Operand& x, const PoolWindow& window, F&& f) {
  const int last = geometry.spatial - 1;
  std::array<std::int64_t, kMaxSpatial> tap{};
  std::int64_t at = window.first;
  std::array<std::int64_t, kMaxSpatial> step{};
  for (int i = 0; i <= last; ++i) {
    const auto axis = static_cast<std::size_t>(i);
    const std::int64_t count = window.taps[axis].last - window.taps[axis].first;
    if (count == 0) return;
    // A step after a single tap is never used, and may overflow.
    step[axis] = count == 1 ? 0 : geometry.axes[axis].dilation * x.strides[i + 2];
    tap[axis] = window.taps[axis].first;
  }
  const auto inner = static_cast<std::size_t>(last);
  const std::int64_t count = window.taps[inner].last - window.taps[inner].first;
  while (true) {
    for (std::int64_t k = 0; k < count; ++k) f(at + k * step[inner]);
    int i = last - 1;
    for (; i >= 0; --i) {
      const auto axis = static_cast<std::size_t>(i);
      at += step[axis];
      if (++tap[axis] < window.taps[axis].last) break;
      at -= (tap[axis] - window.taps[axis].first) * step[axis];
      tap[axis] = window.taps[axis].first;
    }
    if (i < 0) return;
  }
}

}  // namespace scanloom::tensor
