#include "kernels/conv_scaling.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "kernels/conv_planes_schedule.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;

/// The elements of x as rows: of the channels of a position, or of the positions of a channel.
struct ChannelRows {
  bool last = false;                    ///< of channels
  std::vector<std::int64_t> positions;  ///< offsets from a channel's first element
  std::int64_t images = 0, image = 0, channels = 0, channel = 0;
  std::int64_t extent = 0;  ///< elements from the first to the end
};

/// nullopt: elements that are not in the order of memory, or have large gaps in between.
std::optional<ChannelRows> rows_of(const Operand& x) {
  constexpr std::int64_t kMaxGaps = 2;
  ChannelRows rows;
  rows.extent = 1;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (x.dims[axis] > 1 && x.strides[axis] <= 0) return std::nullopt;
    rows.extent += (x.dims[axis] - 1) * x.strides[axis];
  }
  if (x.empty() || rows.extent > kMaxGaps * x.elements()) return std::nullopt;
  rows.images = x.dims[0];
  rows.image = x.strides[0];
  rows.channels = x.dims[1];
  rows.channel = x.strides[1];
  rows.last = rows.channel == 1;
  rows.positions = {0};
  for (int axis = 2; axis < x.rank; ++axis) {
    std::vector<std::int64_t> more;
    more.reserve(rows.positions.size() * static_cast<std::size_t>(x.dims[axis]));
    for (const std::int64_t at : rows.positions)
      for (std::int64_t i = 0; i < x.dims[axis]; ++i) more.push_back(at + i * x.strides[axis]);
    rows.positions = std::move(more);
  }
  return rows;
}

/// The exponents of each channel's elements.
template <class T>
std::vector<Exponents<T>> exponents_of(const ChannelRows& rows, const T* x) {
  std::vector<Exponents<T>> found(static_cast<std::size_t>(rows.channels));
  for (std::int64_t image = 0; image < rows.images; ++image, x += rows.image) {
    if (rows.last) {
      for (const std::int64_t position : rows.positions)
        for (std::int64_t channel = 0; channel < rows.channels; ++channel)
          found[static_cast<std::size_t>(channel)].add(x[position + channel]);
    } else {
      for (std::int64_t channel = 0; channel < rows.channels; ++channel)
        for (const std::int64_t position : rows.positions)
          found[static_cast<std::size_t>(channel)].add(x[channel * rows.channel + position]);
    }
  }
  return found;
}

/// Calls f(section, channel, first, count) for the adjacent packed weights of each channel in each
/// block: `count` from `first` on.
template <class T, class F>
void for_each_packed(const PlanesSchedule<T>& plan, F&& f) {
  const tensor::ConvGeometry& g = plan.geometry;
  const LastBlock last = plan.y_step == 1 ? LastBlock::idles : LastBlock::overlaps;
  for (std::size_t section = 0; section < plan.sections.size(); ++section) {
    const PlanesSection& s = plan.sections[section];
    const auto k = static_cast<std::int64_t>(s.taps.size());
    for (std::int64_t group = 0; group < g.group; ++group)
      for_each_filter_block(
          *plan.blocks, plan.block_vectors, g.filters, last, [&](const FilterBlock& block) {
            const std::int64_t count = k / g.channels * block.vectors * plan.blocks->lanes;
            std::int64_t first = group * s.packed_group + block.packed * k;
            for (std::int64_t channel = 0; channel < g.channels; ++channel, first += count)
              f(section, group * g.channels + channel, first, count);
          });
  }
}

template <class T>
const T* packed_of(const PlanesSchedule<T>& plan, std::size_t section) {
  return static_cast<const T*>(plan.sections[section].packed.get());
}

template <class T>
std::vector<Exponents<T>> exponents_of_weights(const PlanesSchedule<T>& plan) {
  const tensor::ConvGeometry& g = plan.geometry;
  std::vector<Exponents<T>> found(static_cast<std::size_t>(g.group * g.channels));
  for_each_packed(
      plan, [&](std::size_t section, std::int64_t channel, std::int64_t first, std::int64_t count) {
        for (const T weight :
             std::span(packed_of(plan, section) + first, static_cast<std::size_t>(count)))
          found[static_cast<std::size_t>(channel)].add(weight);
      });
  return found;
}

/// A product keeps its value where both scaled factors are normal. Where all of one side are
/// denormal, those of the other side that are too small for that change no sum before or after.
template <class T>
ChannelScale choose_scale(const Exponents<T>& elements, const Exponents<T>& weights) {
  const auto may_grow = [](const Exponents<T>& these, const Exponents<T>& others) {
    return these.has_denormals() && these.may_grow() &&
           (these.are_denormals() || others.may_shrink());
  };
  if (may_grow(elements, weights)) return ChannelScale::elements_grow;
  return may_grow(weights, elements) ? ChannelScale::elements_shrink : ChannelScale::none;
}

template <class T>
std::shared_ptr<const ScaledWeights<T>> scaled_weights(const PlanesSchedule<T>& plan,
                                                       std::vector<ScaledChannel> channels) {
  auto made = std::make_shared<ScaledWeights<T>>();
  std::vector<T*> to;
  for (std::size_t section = 0; section < plan.sections.size(); ++section) {
    const std::int64_t count = plan.geometry.group * plan.sections[section].packed_group;
    std::shared_ptr<T> copy = packed_memory<T>(count);
    std::copy_n(packed_of(plan, section), count, copy.get());
    to.push_back(copy.get());
    made->sections.push_back(std::move(copy));
  }
  std::vector<ChannelScale> scales(
      static_cast<std::size_t>(plan.geometry.group * plan.geometry.channels));
  for (const auto& [channel, scale] : channels) scales[static_cast<std::size_t>(channel)] = scale;
  for_each_packed(
      plan, [&](std::size_t section, std::int64_t channel, std::int64_t first, std::int64_t count) {
        const ChannelScale scale = scales[static_cast<std::size_t>(channel)];
        if (scale == ChannelScale::none) return;
        for (T& weight : std::span(to[section] + first, static_cast<std::size_t>(count)))
          weight = scale == ChannelScale::elements_grow ? shrunk_or_least(weight) : grown(weight);
      });
  made->channels = std::move(channels);
  return made;
}

template <class T>
void scale_element(ChannelScale scale, T& element) {
  element = scale == ChannelScale::elements_grow ? grown(element) : shrunk_or_least(element);
}

}  // namespace

template <class T>
void ConvScaling<T>::note_met() {
  if (left_.load(std::memory_order_relaxed) < 0)
    left_.fetch_add(1, std::memory_order_relaxed);
  else
    left_.store(kPatience, std::memory_order_relaxed);
}

template <class T>
std::vector<ScaledChannel> ConvScaling<T>::choose_channels(const PlanesSchedule<T>& plan,
                                                           const Operand& x) {
  std::vector<ScaledChannel> chosen;
  const std::optional<ChannelRows> rows = rows_of(x);
  if (!rows) return chosen;
  const std::vector<Exponents<T>> of_x = exponents_of(*rows, x.data<const T>());
  if (of_weights_.empty()) of_weights_ = exponents_of_weights(plan);
  for (std::size_t channel = 0; channel < of_x.size(); ++channel) {
    const ChannelScale scale = choose_scale(of_x[channel], of_weights_[channel]);
    if (scale != ChannelScale::none) chosen.push_back({static_cast<std::int64_t>(channel), scale});
  }
  return chosen;
}

template <class T>
std::shared_ptr<const ScaledWeights<T>> ConvScaling<T>::find(const PlanesSchedule<T>& plan,
                                                             const Operand& x) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    std::vector<ScaledChannel> channels = choose_channels(plan, x);
    if (channels.empty()) {
      if (left_.fetch_sub(1, std::memory_order_relaxed) == 1)
        left_.store(-kPause, std::memory_order_relaxed);
      return nullptr;
    }
    if (latest_ == nullptr || latest_->channels != channels)
      latest_ = scaled_weights(plan, std::move(channels));
    return latest_;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

template <class T>
std::unique_ptr<T[]> scaled_copy(const Operand& x, const ScaledWeights<T>& weights) noexcept {
  try {
    const std::optional<ChannelRows> rows = rows_of(x);
    const auto extent = static_cast<std::size_t>(rows->extent);
    std::unique_ptr<T[]> copy = std::make_unique_for_overwrite<T[]>(extent);
    std::memcpy(copy.get(), x.data<const T>(), extent * sizeof(T));
    T* image = copy.get();
    for (std::int64_t i = 0; i < rows->images; ++i, image += rows->image) {
      if (rows->last) {
        for (const std::int64_t position : rows->positions)
          for (const auto& [channel, scale] : weights.channels)
            scale_element(scale, image[position + channel]);
      } else {
        for (const auto& [channel, scale] : weights.channels)
          for (const std::int64_t position : rows->positions)
            scale_element(scale, image[channel * rows->channel + position]);
      }
    }
    return copy;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

template <class T>
void scale_planes(const PlanesSchedule<T>& plan, const ScaledWeights<T>& weights,
                  std::int64_t first_channel, T* planes) {
  const tensor::ConvGeometry& g = plan.geometry;
  const auto at = [&](std::int64_t channel) {
    return std::ranges::lower_bound(weights.channels, channel, {}, &ScaledChannel::channel);
  };
  const std::ranges::subrange scaled(at(first_channel), at(first_channel + g.channels));
  if (plan.reads_last) {
    const std::int64_t pitch = plan.last_planes.pitch[static_cast<std::size_t>(g.spatial - 1)];
    const T* const end = planes + plan.last_planes.elements;
    for (; planes != end; planes += pitch)
      for (const auto& [channel, scale] : scaled)
        scale_element(scale, planes[channel - first_channel]);
    return;
  }
  const std::int64_t of_channel = plan.grid.phases() * plan.grid.plane;
  for (const auto& [channel, scale] : scaled)
    for (T& element : std::span(planes + (channel - first_channel) * of_channel,
                                static_cast<std::size_t>(of_channel)))
      scale_element(scale, element);
}

template class ConvScaling<float>;
template class ConvScaling<double>;
template std::unique_ptr<float[]> scaled_copy(const Operand&, const ScaledWeights<float>&) noexcept;
template std::unique_ptr<double[]> scaled_copy(const Operand&,
                                               const ScaledWeights<double>&) noexcept;
template void scale_planes(const PlanesSchedule<float>&, const ScaledWeights<float>&, std::int64_t,
                           float*);
template void scale_planes(const PlanesSchedule<double>&, const ScaledWeights<double>&,
                           std::int64_t, double*);

}  // namespace scanloom::kernels
