#include "kernels/channels_last_planes.h"

#include <algorithm>
#include <cstring>

namespace scanloom::kernels {

bool ChannelsLastPlanes::lay_out(std::int64_t bands, std::int64_t bytes, std::int64_t limit) {
  constexpr std::int64_t kGap = 16;
  const auto axes = static_cast<std::size_t>(geometry.spatial);
  for (std::size_t axis = 0; axis < axes; ++axis)
    step[axis] = geometry.kernel[axis] == 1 ? 1 : geometry.stride[axis];
  const bool gap = lines_share_cache_sets(geometry.channels * bytes);
  elements = geometry.channels + (gap ? kGap : 0);
  for (std::size_t axis = axes; axis-- > 0;) {
    pitch[axis] = elements;
    const std::int64_t windows = axis == 0 ? bands : geometry.out[axis];
    const std::int64_t reach = (geometry.kernel[axis] - 1) * geometry.dilation[axis];
    if (step[axis] > limit / windows || reach >= limit) return false;
    size[axis] = (windows - 1) * step[axis] + reach + 1;
    if (size[axis] > limit / elements) return false;
    elements *= size[axis];
  }
  return true;
}

std::vector<std::int64_t> ChannelsLastPlanes::taps() const {
  std::vector<std::int64_t> offsets;
  for (std::int64_t channel = 0; channel < geometry.channels; ++channel)
    for_each_position(geometry.spatial, geometry.kernel, [&](const AxisSizes& tap) {
      std::int64_t at = channel;
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(geometry.spatial); ++axis)
        at += tap[axis] * geometry.dilation[axis] * pitch[axis];
      offsets.push_back(at);
    });
  return offsets;
}

ChannelsLastPlanes::Inside ChannelsLastPlanes::inside(std::size_t axis, std::int64_t first) const {
  const std::int64_t apart = sampling(axis);
  Inside found;
  found.from = (axis == 0 ? first * geometry.stride[axis] : 0) - geometry.pad[axis];
  found.begin = found.from >= 0 ? 0 : (-found.from + apart - 1) / apart;
  const std::int64_t after = geometry.in[axis] - found.from;
  found.end = after <= 0 ? 0 : (after + apart - 1) / apart;
  found.begin = std::min(found.begin, size[axis]);
  found.end = std::clamp(found.end, found.begin, size[axis]);
  return found;
}

template <class T>
void ChannelsLastPlanes::fill(const T* x, std::int64_t first, T* to) const {
  const auto last = static_cast<std::size_t>(geometry.spatial - 1);
  const std::int64_t channels = geometry.channels, position = pitch[last];
  const std::int64_t row = size[last] * position;
  const Inside along = inside(last, first);
  const std::int64_t x_position = sampling(last) * x_axis[last];
  const bool adjacent = position == channels && x_position == channels;
  const auto bytes = [](std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); };
  for_each_position(static_cast<int>(last), size, [&](const AxisSizes& at) {
    T* const begin = to + along.begin * position;
    bool is_inside = along.begin < along.end;
    const T* from = x + (along.from + along.begin * sampling(last)) * x_axis[last];
    for (std::size_t axis = 0; axis < last; ++axis) {
      const Inside here = inside(axis, first);
      is_inside &= at[axis] >= here.begin && at[axis] < here.end;
      from += (here.from + at[axis] * sampling(axis)) * x_axis[axis];
    }
    if (!is_inside) {
      std::fill_n(to, row, T{0});
    } else {
      std::fill_n(to, along.begin * position, T{0});
      if (adjacent)
        std::memcpy(begin, from, bytes((along.end - along.begin) * channels));
      else
        for (std::int64_t i = 0; i < along.end - along.begin; ++i)
          std::memcpy(begin + i * position, from + i * x_position, bytes(channels));
      std::fill_n(to + along.end * position, (size[last] - along.end) * position, T{0});
    }
    to += row;
  });
}

template void ChannelsLastPlanes::fill(const float*, std::int64_t, float*) const;
template void ChannelsLastPlanes::fill(const double*, std::int64_t, double*) const;

}  // namespace scanloom::kernels
