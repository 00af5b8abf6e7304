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

/// The elements of x in adjacent runs: the channels of a position, or positions of a channel.
struct ChannelRuns {
  bool last = false;               ///< of channels
  std::vector<std::int64_t> runs;  ///< offsets from a channel's first element
  std::int64_t size = 1;           ///< positions of a run
  std::int64_t images = 0, image = 0, channels = 0, channel = 0;
  std::int64_t extent = 1;  ///< elements from the first to the end
};

/// nullopt: elements that are not in the order of memory, or have large gaps in between.
std::optional<ChannelRuns> runs_of(const Operand& x) {
  constexpr std::int64_t kMaxGaps = 2;
  ChannelRuns found;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (x.dims[axis] > 1 && x.strides[axis] <= 0) return std::nullopt;
    found.extent += (x.dims[axis] - 1) * x.strides[axis];
  }
  if (x.empty() || found.extent > kMaxGaps * x.elements()) return std::nullopt;
  found.images = x.dims[0];
  found.image = x.strides[0];
  found.channels = x.dims[1];
  found.channel = x.strides[1];
  found.last = found.channel == 1;
  int axes = x.rank;
  if (!found.last && x.strides[axes - 1] == 1) found.size = x.dims[--axes];
  found.runs = {0};
  for (int axis = 2; axis < axes; ++axis) {
    std::vector<std::int64_t> more;
    more.reserve(found.runs.size() * static_cast<std::size_t>(x.dims[axis]));
    for (const std::int64_t at : found.runs)
      for (std::int64_t i = 0; i < x.dims[axis]; ++i) more.push_back(at + i * x.strides[axis]);
    found.runs = std::move(more);
  }
  return found;
}

/// Adds `count` elements to exponents `step` apart.
template <class T, int kStep>
void add_exponents(const T* elements, std::int64_t count, ChannelExponents<T>& found,
                   std::int64_t channel) {
  using Word = typename Bits<T>::Word;
  Word* const least = found.least.data() + channel;
  Word* const most = found.most.data() + channel;
  Word denormals = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Word magnitude = std::bit_cast<Word>(elements[i]) & (Bits<T>::kSign - 1);
    const Word exponent = magnitude >> Bits<T>::kMantissa;
    const Word unless_zero = magnitude == 0 ? Bits<T>::kInfinite : exponent;
    most[i * kStep] = std::max(most[i * kStep], exponent);
    least[i * kStep] = std::min(least[i * kStep], unless_zero);
    denormals += unless_zero == 0 ? 1 : 0;
  }
  found.denormals += static_cast<std::int64_t>(denormals);
}

template <class T>
ChannelExponents<T> exponents_of(const ChannelRuns& x, const T* image) {
  ChannelExponents<T> found(x.channels);
  for (std::int64_t i = 0; i < x.images; ++i, image += x.image) {
    if (x.last) {
      for (const std::int64_t run : x.runs) add_exponents<T, 1>(image + run, x.channels, found, 0);
    } else {
      for (std::int64_t channel = 0; channel < x.channels; ++channel)
        for (const std::int64_t run : x.runs)
          add_exponents<T, 0>(image + channel * x.channel + run, x.size, found, channel);
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

/// The exponents of each channel's weights. `denormals` counts vectors of them.
template <class T>
ChannelExponents<T> exponents_of_weights(const PlanesSchedule<T>& plan) {
  const std::int64_t lanes = plan.blocks->lanes;
  ChannelExponents<T> found(plan.geometry.group * plan.geometry.channels);
  for_each_packed(
      plan, [&](std::size_t section, std::int64_t channel, std::int64_t first, std::int64_t count) {
        const T* const weights = packed_of(plan, section) + first;
        for (std::int64_t vector = 0; vector < count; vector += lanes) {
          const std::int64_t before = found.denormals;
          add_exponents<T, 0>(weights + vector, lanes, found, channel);
          found.denormals = std::min(found.denormals, before + 1);
        }
      });
  return found;
}

/// Whether denormal factors take longer than the search and a copy of x.
template <class T>
bool is_worth_it(const PlanesSchedule<T>& plan, const ChannelExponents<T>& elements,
                 const ChannelExponents<T>& weights) {
  constexpr double kWait = 25;  // elements that are copied meanwhile
  const tensor::ConvGeometry& g = plan.geometry;
  const double vectors =
      static_cast<double>(plan.k / g.channels) *
      static_cast<double>((g.filters + plan.blocks->lanes - 1) / plan.blocks->lanes);
  const double positions = static_cast<double>(g.batch) * static_cast<double>(plan.positions);
  const double waits = static_cast<double>(elements.denormals) * vectors +
                       static_cast<double>(weights.denormals) * positions;
  double copied = static_cast<double>(g.batch) * static_cast<double>(g.group * g.channels);
  for (std::size_t axis = 0; axis < static_cast<std::size_t>(g.spatial); ++axis)
    copied *= static_cast<double>(g.in[axis]);
  return waits * kWait > copied;
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
  const std::optional<ChannelRuns> runs = runs_of(x);
  if (!runs) return chosen;
  const ChannelExponents<T> elements = exponents_of(*runs, x.data<const T>());
  if (of_weights_ == nullptr)
    of_weights_ = std::make_unique<ChannelExponents<T>>(exponents_of_weights(plan));
  if (!is_worth_it(plan, elements, *of_weights_)) return chosen;
  for (std::size_t channel = 0; channel < elements.least.size(); ++channel) {
    const ChannelScale scale = choose_scale(elements.of(channel), of_weights_->of(channel));
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
    const std::optional<ChannelRuns> runs = runs_of(x);
    const auto extent = static_cast<std::size_t>(runs->extent);
    std::unique_ptr<T[]> copy = std::make_unique_for_overwrite<T[]>(extent);
    std::memcpy(copy.get(), x.data<const T>(), extent * sizeof(T));
    T* image = copy.get();
    for (std::int64_t i = 0; i < runs->images; ++i, image += runs->image) {
      if (runs->last) {
        for (const std::int64_t run : runs->runs)
          for (const auto& [channel, scale] : weights.channels)
            scale_element(scale, image[run + channel]);
      } else {
        for (const auto& [channel, scale] : weights.channels)
          for (const std::int64_t run : runs->runs)
            for (std::int64_t at = run; at < run + runs->size; ++at)
              scale_element(scale, image[channel * runs->channel + at]);
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
