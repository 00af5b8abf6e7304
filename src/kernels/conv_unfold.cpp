#include "kernels/conv_unfold.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace scanloom::kernels {
namespace {

using tensor::ConvGeometry;
using tensor::kMaxSpatial;
using Index = std::array<std::int64_t, kMaxSpatial>;

constexpr std::int64_t kUnfoldedBytes = 256 * 1024;
constexpr std::int64_t kMaxSlots = 8;

Index index_at(const ConvGeometry& geometry, std::int64_t position) {
  Index index{};
  for (int axis = geometry.spatial - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    index[i] = position % geometry.out[i];
    position /= geometry.out[i];
  }
  return index;
}

// Advances to the next index in row-major order; returns false after the last.
bool advance(Index& index, const Index& sizes, int axes) {
  for (int axis = axes - 1; axis >= 0; --axis) {
    const auto i = static_cast<std::size_t>(axis);
    if (++index[i] < sizes[i]) return true;
    index[i] = 0;
  }
  return false;
}

/// Where along one axis x would be read by one kernel position, for the first of a run of outputs.
std::int64_t start_of(const ConvGeometry& geometry, std::size_t axis, std::int64_t out,
                      std::int64_t tap) {
  return out * geometry.stride[axis] - geometry.pad[axis] + tap * geometry.dilation[axis];
}

template <class T>
void copy_run(const T* from, std::int64_t step, std::int64_t count, T* to) {
  if (step == 1)
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  else
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
}

// One row of the matrix: all outputs of the range, for one channel and kernel position.
template <class T>
void unfold_row(const ConvGeometry& geometry, const T* x, const std::int64_t* x_axis,
                const Index& tap, Index out, std::int64_t count, T* to) {
  const auto last = static_cast<std::size_t>(geometry.spatial - 1);
  while (count > 0) {
    const std::int64_t run = std::min(count, geometry.out[last] - out[last]);
    std::int64_t line = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis < last; ++axis) {
      const std::int64_t at = start_of(geometry, axis, out[axis], tap[axis]);
      inside &= at >= 0 && at < geometry.in[axis];
      // Positions outside x may be so far away that their offsets overflow.
      if (inside) line += at * x_axis[axis];
    }
    if (inside)
      unfold_run(x, line, x_axis[last], start_of(geometry, last, out[last], tap[last]),
                 geometry.stride[last], geometry.in[last], run, to);
    else
      std::fill_n(to, run, T{0});
    to += run;
    count -= run;
    out[last] = 0;
    advance(out, geometry.out, static_cast<int>(last));
  }
}

}  // namespace

template <class T>
void unfold_run(const T* x, std::int64_t line, std::int64_t x_step, std::int64_t start,
                std::int64_t stride, std::int64_t in, std::int64_t count, T* to) {
  const std::int64_t before = start >= 0 ? 0 : std::min(count, (-start + stride - 1) / stride);
  const std::int64_t end = start >= in ? 0 : std::min(count, (in - 1 - start) / stride + 1);
  const std::int64_t inside = std::max<std::int64_t>(0, end - before);
  std::fill_n(to, before, T{0});
  if (inside > 0)
    copy_run(x + (line + (start + before * stride) * x_step), stride * x_step, inside, to + before);
  std::fill_n(to + before + inside, count - before - inside, T{0});
}

UnfoldedRanges unfolded_ranges(std::int64_t positions, std::int64_t column_bytes,
                               std::int64_t times) {
  UnfoldedRanges ranges{.size = positions};
  if (column_bytes > 0 && positions > kUnfoldedBytes / column_bytes)
    ranges.size =
        std::min(positions, std::max<std::int64_t>(kUnfoldedBytes / column_bytes / 64 * 64, 64));
  ranges.count = ranges.size == 0 ? 0 : (positions + ranges.size - 1) / ranges.size;
  ranges.slots = std::clamp<std::int64_t>(times * ranges.count, 1, kMaxSlots);
  return ranges;
}

template <class T>
void unfold(const ConvGeometry& geometry, const T* x, std::int64_t x_channel,
            const std::int64_t* x_axis, std::int64_t first, std::int64_t count, T* to) {
  const Index out = index_at(geometry, first);
  for (std::int64_t channel = 0; channel < geometry.channels; ++channel) {
    Index tap{};
    do {
      unfold_row(geometry, x + channel * x_channel, x_axis, tap, out, count, to);
      to += count;
    } while (advance(tap, geometry.kernel, geometry.spatial));
  }
}

template void unfold_run(const float*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, float*);
template void unfold_run(const double*, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, double*);
template void unfold_run(const std::int16_t*, std::int64_t, std::int64_t, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t, std::int16_t*);
template void unfold(const ConvGeometry&, const float*, std::int64_t, const std::int64_t*,
                     std::int64_t, std::int64_t, float*);
template void unfold(const ConvGeometry&, const std::int16_t*, std::int64_t, const std::int64_t*,
                     std::int64_t, std::int64_t, std::int16_t*);
template void unfold(const ConvGeometry&, const double*, std::int64_t, const std::int64_t*,
                     std::int64_t, std::int64_t, double*);

}  // namespace scanloom::kernels
