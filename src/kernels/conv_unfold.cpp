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
constexpr std::int64_t kMaxUnfoldSlots = 8;

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

/// Runs are short: whole quadruples, the last of which may overlap the one before.
template <class T>
void copy_run(const T* from, std::int64_t step, std::int64_t count, T* to) {
  constexpr std::int64_t kTogether = 4, kLong = 64;
  if (step == 1 && (count < kTogether || count >= kLong)) {
    std::copy_n(from, count, to);
  } else if (step == 1) {
    for (std::int64_t i = 0; i + kTogether < count; i += kTogether)
      std::memcpy(to + i, from + i, kTogether * sizeof(T));
    const std::int64_t last = count - kTogether;
    std::memcpy(to + last, from + last, kTogether * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * step];
  }
}

/// The elements of a run that meet x: those before and after them meet padding.
struct PartOfRun {
  std::int64_t before = 0, inside = 0;
};

PartOfRun part_inside(std::int64_t start, std::int64_t stride, std::int64_t in,
                      std::int64_t count) {
  const std::int64_t before = start >= 0 ? 0 : std::min(count, (-start + stride - 1) / stride);
  const std::int64_t end = start >= in ? 0 : std::min(count, (in - 1 - start) / stride + 1);
  return {before, std::max<std::int64_t>(0, end - before)};
}

/// A run of outputs along the last axis, for one kernel position: elements of padding, of x, of
/// padding. The same for all channels.
struct UnfoldedRun {
  std::int64_t from = 0;  ///< the offset in a channel of the first element inside
  PartOfRun part;
  std::int64_t count = 0;
};

template <class T>
T* unfold_one(const T* x, std::int64_t step, const UnfoldedRun& run, T* to) {
  for (std::int64_t i = 0; i < run.part.before; ++i) to[i] = 0;
  if (run.part.inside > 0) copy_run(x + run.from, step, run.part.inside, to + run.part.before);
  for (std::int64_t i = run.part.before + run.part.inside; i < run.count; ++i) to[i] = 0;
  return to + run.count;
}

/// The run that begins at an output and ends with its line, or after `count` outputs.
UnfoldedRun run_at(const ConvGeometry& geometry, const std::int64_t* x_axis, const Index& tap,
                   const Index& out, std::int64_t count) {
  const auto last = static_cast<std::size_t>(geometry.spatial - 1);
  UnfoldedRun run{.count = std::min(count, geometry.out[last] - out[last])};
  std::int64_t line = 0;
  bool inside = true;
  for (std::size_t axis = 0; axis < last; ++axis) {
    const std::int64_t at = start_of(geometry, axis, out[axis], tap[axis]);
    inside &= at >= 0 && at < geometry.in[axis];
    // Positions outside x may be so far away that their offsets overflow.
    if (inside) line += at * x_axis[axis];
  }
  run.part.before = run.count;
  if (!inside) return run;
  const std::int64_t start = start_of(geometry, last, out[last], tap[last]);
  run.part = part_inside(start, geometry.stride[last], geometry.in[last], run.count);
  if (run.part.inside > 0)
    run.from = line + (start + run.part.before * geometry.stride[last]) * x_axis[last];
  return run;
}

}  // namespace

template <class T>
void unfold_run(const T* x, std::int64_t line, std::int64_t x_step, std::int64_t start,
                std::int64_t stride, std::int64_t in, std::int64_t count, T* to) {
  UnfoldedRun run{.part = part_inside(start, stride, in, count), .count = count};
  if (run.part.inside > 0) run.from = line + (start + run.part.before * stride) * x_step;
  unfold_one(x, stride * x_step, run, to);
}

UnfoldedRanges unfolded_ranges(std::int64_t positions, std::int64_t column_bytes,
                               std::int64_t times) {
  UnfoldedRanges ranges{.size = positions};
  if (column_bytes > 0 && positions > kUnfoldedBytes / column_bytes)
    ranges.size =
        std::min(positions, std::max<std::int64_t>(kUnfoldedBytes / column_bytes / 64 * 64, 64));
  ranges.count = ranges.size == 0 ? 0 : (positions + ranges.size - 1) / ranges.size;
  ranges.slots = std::clamp<std::int64_t>(times * ranges.count, 1, kMaxUnfoldSlots);
  return ranges;
}

template <class T>
void unfold(const ConvGeometry& geometry, const T* x, std::int64_t x_channel,
            const std::int64_t* x_axis, std::int64_t first, std::int64_t count, T* to) {
  constexpr std::size_t kRunsTogether = 64;
  const auto last = static_cast<std::size_t>(geometry.spatial - 1);
  const std::int64_t step = geometry.stride[last] * x_axis[last];
  const std::int64_t channel_size = geometry.kernel_positions() * count;
  std::array<UnfoldedRun, kRunsTogether> runs;
  Index tap{};
  do {
    Index out = index_at(geometry, first);
    for (std::int64_t done = 0; done < count;) {
      const std::int64_t begin = done;
      std::size_t found = 0;
      for (; found < kRunsTogether && done < count; done += runs[found++].count) {
        runs[found] = run_at(geometry, x_axis, tap, out, count - done);
        out[last] = 0;
        advance(out, geometry.out, static_cast<int>(last));
      }
      for (std::int64_t channel = 0; channel < geometry.channels; ++channel) {
        T* at = to + channel * channel_size + begin;
        for (std::size_t i = 0; i < found; ++i)
          at = unfold_one(x + channel * x_channel, step, runs[i], at);
      }
    }
    to += count;
  } while (advance(tap, geometry.kernel, geometry.spatial));
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
