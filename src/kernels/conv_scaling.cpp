#include "kernels/conv_scaling.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "kernels/conv_planes_schedule.h"

namespace scanloom::kernels {
namespace {

using tensor::Operand;

/// The elements of x in adjacent runs: the channels of a position, or positions of a channel.
struct Runs {
  static constexpr std::size_t kMaxAxes = 16;

  bool of_channels = false;
  std::int64_t size = 1;
  std::size_t axes = 0;  ///< other than that of a run
  std::array<std::int64_t, kMaxAxes> dims{}, strides{};
  std::size_t channel_axis = 0;  ///< among these, unless a run is of channels
  std::int64_t extent = 1;       ///< elements from the first to the end

  /// Calls f(channel, offset) for each run; the channel is 0 if it is one of channels.
  template <class F>
  void for_each(F&& f) const {
    std::array<std::int64_t, kMaxAxes> at{};
    std::int64_t offset = 0;
    while (true) {
      f(of_channels ? 0 : at[channel_axis], offset);
      std::size_t axis = axes;
      for (; axis > 0; --axis) {
        offset += strides[axis - 1];
        if (++at[axis - 1] < dims[axis - 1]) break;
        offset -= dims[axis - 1] * strides[axis - 1];
        at[axis - 1] = 0;
      }
      if (axis == 0) return;
    }
  }
};

/// nullopt: elements that share memory, run backwards or have large gaps in between.
std::optional<Runs> runs_of(const Operand& x) {
  constexpr std::int64_t kMaxGaps = 2;
  if (x.empty() || static_cast<std::size_t>(x.rank) > Runs::kMaxAxes) return std::nullopt;
  Runs runs;
  std::array<std::pair<std::int64_t, std::int64_t>, Runs::kMaxAxes> moving;  // stride, dim
  std::size_t count = 0;
  for (int axis = 0; axis < x.rank; ++axis)
    if (x.dims[axis] > 1) moving[count++] = {x.strides[axis], x.dims[axis]};
  std::sort(moving.begin(), moving.begin() + static_cast<std::ptrdiff_t>(count));
  for (const auto& [stride, dim] : std::span(moving).first(count)) {
    if (stride < runs.extent) return std::nullopt;
    runs.extent += (dim - 1) * stride;
  }
  if (runs.extent > kMaxGaps * x.elements()) return std::nullopt;
  runs.of_channels = x.strides[1] == 1;
  const bool along_last = x.strides[x.rank - 1] == 1;
  const int axis_of_run = runs.of_channels ? 1 : along_last ? x.rank - 1 : x.rank;
  for (int axis = 0; axis < x.rank; ++axis) {
    if (axis == axis_of_run) {
      runs.size = x.dims[axis];
      continue;
    }
    if (axis == 1) runs.channel_axis = runs.axes;
    runs.dims[runs.axes] = x.dims[axis];
    runs.strides[runs.axes++] = x.strides[axis];
  }
  return runs;
}

/// Adds a run of channels. Plain loops, which compilers turn into vectors.
template <class T, class Word>
void add_channels(const T* __restrict elements, std::int64_t count, Word* __restrict least,
                  Word* __restrict most) {
  for (std::int64_t i = 0; i < count; ++i) {
    const Word magnitude = std::bit_cast<Word>(elements[i]) & (Bits<T>::kSign - 1);
    const Word exponent = magnitude >> Bits<T>::kMantissa;
    // 0 counts as infinite in the least.
    const Word of_zero = magnitude == 0 ? Word{Bits<T>::kInfinite} : Word{0};
    most[i] = std::max(most[i], exponent);
    least[i] = std::min(least[i], exponent | of_zero);
  }
}

/// Adds a run of one channel.
template <class T, class Word>
void add_positions(const T* elements, std::int64_t count, Word& least, Word& most) {
  Exponents<T> found{least, most};
  for (std::int64_t i = 0; i < count; ++i) found.add(elements[i]);
  least = found.least;
  most = found.most;
}

template <class T>
ChannelExponents<T> exponents_of(const Runs& runs, const T* x, std::int64_t channels) {
  ChannelExponents<T> found(channels);
  runs.for_each([&](std::int64_t channel, std::int64_t offset) {
    if (runs.of_channels)
      return add_channels(x + offset, runs.size, found.least.data(), found.most.data());
    const auto at = static_cast<std::size_t>(channel);
    add_positions(x + offset, runs.size, found.least[at], found.most[at]);
  });
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
ChannelExponents<T> exponents_of_weights(const PlanesSchedule<T>& plan) {
  ChannelExponents<T> found(plan.geometry.group * plan.geometry.channels);
  for_each_packed(
      plan, [&](std::size_t section, std::int64_t channel, std::int64_t first, std::int64_t count) {
        const auto at = static_cast<std::size_t>(channel);
        add_positions(packed_of(plan, section) + first, count, found.least[at], found.most[at]);
      });
  return found;
}

/// Whether a product of any two keeps its value where these are multiplied by 2^64 and the others
/// by 2^-64, as both stay normal. Where all of these are denormal, others that are too small for
/// that change no sum before or after.
template <class T>
bool may_grow(const Exponents<T>& these, const Exponents<T>& others) {
  return these.may_grow() && (these.most == 0 || others.may_shrink());
}

template <class T>
bool may_scale(ChannelScale scale, const Exponents<T>& elements, const Exponents<T>& weights) {
  if (scale == ChannelScale::none) return true;
  return scale == ChannelScale::elements_grow ? may_grow(elements, weights)
                                              : may_grow(weights, elements);
}

template <class T>
ChannelScale choose_scale(const Exponents<T>& elements, const Exponents<T>& weights) {
  if (elements.has_denormals() && may_grow(elements, weights)) return ChannelScale::elements_grow;
  const bool shrinks = weights.has_denormals() && may_grow(weights, elements);
  return shrinks ? ChannelScale::elements_shrink : ChannelScale::none;
}

/// The scales of all channels. Those that were scaled before stay so if they may: scaled weights
/// are kept as long as possible.
template <class T>
std::vector<ChannelScale> choose_scales(const ChannelExponents<T>& elements,
                                        const ChannelExponents<T>& weights,
                                        const ScaledWeights<T>* before) {
  std::vector<ChannelScale> scales(elements.least.size());
  bool any = false;
  for (std::size_t channel = 0; channel < scales.size(); ++channel) {
    scales[channel] = choose_scale(elements.of(channel), weights.of(channel));
    any |= scales[channel] != ChannelScale::none;
  }
  if (!any) return {};
  if (before != nullptr)
    for (std::size_t channel = 0; channel < scales.size(); ++channel)
      if (scales[channel] == ChannelScale::none &&
          may_scale(before->scales[channel], elements.of(channel), weights.of(channel)))
        scales[channel] = before->scales[channel];
  return scales;
}

template <class T>
void scale_element(ChannelScale scale, T& element) {
  element = scale == ChannelScale::elements_grow ? grown(element) : shrunk_or_least(element);
}

template <class T>
std::shared_ptr<const ScaledWeights<T>> scaled_weights(const PlanesSchedule<T>& plan,
                                                       std::vector<ChannelScale> scales) {
  auto made = std::make_shared<ScaledWeights<T>>();
  std::vector<T*> to;
  for (std::size_t section = 0; section < plan.sections.size(); ++section) {
    const std::int64_t count = plan.geometry.group * plan.sections[section].packed_group;
    std::shared_ptr<T> copy = packed_memory<T>(count);
    std::copy_n(packed_of(plan, section), count, copy.get());
    to.push_back(copy.get());
    made->sections.push_back(std::move(copy));
  }
  for_each_packed(
      plan, [&](std::size_t section, std::int64_t channel, std::int64_t first, std::int64_t count) {
        const ChannelScale scale = scales[static_cast<std::size_t>(channel)];
        if (scale == ChannelScale::none) return;
        for (T& weight : std::span(to[section] + first, static_cast<std::size_t>(count)))
          weight = scale == ChannelScale::elements_grow ? shrunk_or_least(weight) : grown(weight);
      });
  for (std::size_t channel = 0; channel < scales.size(); ++channel)
    if (scales[channel] != ChannelScale::none)
      made->channels.push_back(static_cast<std::int64_t>(channel));
  made->scales = std::move(scales);
  return made;
}

}  // namespace

ScalingTurn ScalingTurns::begin() {
  if (pause_.load(std::memory_order_relaxed) > 0) {
    pause_.fetch_sub(1, std::memory_order_relaxed);
    return ScalingTurn::plain;
  }
  const bool is_known = watched_.load(std::memory_order_relaxed) >= kWatched;
  return is_known ? ScalingTurn::scales : ScalingTurn::watches;
}

void ScalingTurns::end(ScalingTurn turn, bool useful, std::chrono::nanoseconds time) {
  const std::int64_t usual = usual_.load(std::memory_order_relaxed);
  if (turn == ScalingTurn::watches) {
    if (!useful) return watched_.store(0, std::memory_order_relaxed);
    const bool is_first = watched_.fetch_add(1, std::memory_order_relaxed) == 0;
    usual_.store(is_first ? time.count() : std::min(usual, time.count()),
                 std::memory_order_relaxed);
  } else if (turn == ScalingTurn::scales) {
    if (!useful) return pause();
    if (time.count() < usual) {
      failures_.store(0, std::memory_order_relaxed);
      next_pause_.store(kFirstPause, std::memory_order_relaxed);
    } else if (failures_.fetch_add(1, std::memory_order_relaxed) + 1 >= kMaxFailures) {
      pause();
    }
  }
}

void ScalingTurns::pause() {
  const int length = next_pause_.load(std::memory_order_relaxed);
  next_pause_.store(std::min(2 * length, kLongestPause), std::memory_order_relaxed);
  pause_.store(length, std::memory_order_relaxed);
  watched_.store(0, std::memory_order_relaxed);
  failures_.store(0, std::memory_order_relaxed);
}

template <class T>
std::shared_ptr<const ChannelExponents<T>> ConvScaling<T>::weight_exponents(
    const PlanesSchedule<T>& plan) {
  const std::lock_guard lock(mutex_);
  if (weight_exponents_ == nullptr)
    weight_exponents_ = std::make_shared<const Exponents>(exponents_of_weights(plan));
  return weight_exponents_;
}

template <class T>
std::shared_ptr<const ScaledWeights<T>> ConvScaling<T>::find(const PlanesSchedule<T>& plan,
                                                             const Operand& x) noexcept {
  try {
    const std::optional<Runs> runs = runs_of(x);
    if (!runs) return nullptr;
    const std::shared_ptr<const Exponents> weights = weight_exponents(plan);
    const Exponents elements = exponents_of(*runs, x.data<const T>(), x.dims[1]);
    const std::lock_guard lock(mutex_);
    std::vector<ChannelScale> scales = choose_scales(elements, *weights, latest_.get());
    if (scales.empty()) return nullptr;
    if (latest_ == nullptr || latest_->scales != scales)
      latest_ = scaled_weights(plan, std::move(scales));
    return latest_;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

template <class T>
std::unique_ptr<T[]> ConvScaling<T>::copy(const Operand& x,
                                          const ScaledWeights<T>& weights) noexcept {
  const Runs runs = *runs_of(x);
  std::unique_ptr<T[]> to;
  {
    const std::lock_guard lock(mutex_);
    if (spare_size_ >= runs.extent) to = std::move(spare_), spare_size_ = 0;
  }
  if (to == nullptr) to.reset(new (std::nothrow) T[static_cast<std::size_t>(runs.extent)]);
  if (to == nullptr) return nullptr;
  const T* const from = x.data<const T>();
  const std::size_t bytes = static_cast<std::size_t>(runs.size) * sizeof(T);
  runs.for_each([&](std::int64_t channel, std::int64_t offset) {
    T* const run = to.get() + offset;
    std::memcpy(run, from + offset, bytes);
    if (runs.of_channels) {
      for (const std::int64_t each : weights.channels)
        scale_element(weights.scales[static_cast<std::size_t>(each)], run[each]);
    } else if (const ChannelScale scale = weights.scales[static_cast<std::size_t>(channel)];
               scale != ChannelScale::none) {
      for (std::int64_t i = 0; i < runs.size; ++i) scale_element(scale, run[i]);
    }
  });
  return to;
}

template <class T>
void ConvScaling<T>::give_back(std::unique_ptr<T[]> copy, const Operand& x) noexcept {
  const std::int64_t size = runs_of(x)->extent;
  const std::lock_guard lock(mutex_);
  if (size > spare_size_) std::swap(spare_, copy), spare_size_ = size;
}

template <class T>
void scale_planes(const PlanesSchedule<T>& plan, const ScaledWeights<T>& weights,
                  std::int64_t first_channel, T* planes) {
  const tensor::ConvGeometry& g = plan.geometry;
  const auto at = [&](std::int64_t channel) {
    return std::ranges::lower_bound(weights.channels, channel);
  };
  const std::span<const std::int64_t> scaled(at(first_channel), at(first_channel + g.channels));
  const auto scale_of = [&](std::int64_t channel) {
    return weights.scales[static_cast<std::size_t>(channel)];
  };
  if (plan.reads_last) {
    const std::int64_t pitch = plan.last_planes.pitch[static_cast<std::size_t>(g.spatial - 1)];
    const T* const end = planes + plan.last_planes.elements;
    for (; planes != end; planes += pitch)
      for (const std::int64_t channel : scaled)
        scale_element(scale_of(channel), planes[channel - first_channel]);
    return;
  }
  const std::int64_t of_channel = plan.grid.phases() * plan.grid.plane;
  for (const std::int64_t channel : scaled)
    for (T& element : std::span(planes + (channel - first_channel) * of_channel,
                                static_cast<std::size_t>(of_channel)))
      scale_element(scale_of(channel), element);
}

template class ConvScaling<float>;
template class ConvScaling<double>;
template void scale_planes(const PlanesSchedule<float>&, const ScaledWeights<float>&, std::int64_t,
                           float*);
template void scale_planes(const PlanesSchedule<double>&, const ScaledWeights<double>&,
                           std::int64_t, double*);

}  // namespace scanloom::kernels
