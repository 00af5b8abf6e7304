// Convolutions in blocks of filters some of whose channels are denormal, as those that training has
// switched off: their elements and weights are scaled by powers of two, so that sums keep their
// bits and no instruction waits (scaled_numbers.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "kernels/scaled_numbers.h"
#include "tensor/call.h"

namespace scanloom::kernels {

template <class T>
struct PlanesSchedule;

/// How the elements of a channel and its weights are scaled.
enum class ChannelScale : std::uint8_t {
  none,
  elements_grow,    ///< elements times 2^64, weights times 2^-64
  elements_shrink,  ///< the reverse
};

/// Packed weights of a convolution, scaled for some channels.
template <class T>
struct ScaledWeights {
  std::vector<ChannelScale> scales;    ///< of all groups' channels
  std::vector<std::int64_t> channels;  ///< that are scaled, ascending
  std::vector<std::shared_ptr<const T>> sections;
};

/// The exponents of each channel's elements.
template <class T>
struct ChannelExponents {
  using Word = typename Bits<T>::Word;

  explicit ChannelExponents(std::int64_t channels)
      : least(static_cast<std::size_t>(channels), Bits<T>::kInfinite),
        most(static_cast<std::size_t>(channels), 0) {}

  [[nodiscard]] Exponents<T> of(std::size_t channel) const {
    return {least[channel], most[channel]};
  }

  std::vector<Word> least, most;
};

/// Whether a call of a convolution scales.
enum class ScalingTurn : std::uint8_t {
  plain,    ///< nothing
  watches,  ///< looks whether arithmetic meets some (base/denormals.h)
  scales,   ///< scales what it may
};

/// Decides which calls scale: those that follow calls which met denormals, as long as they take
/// less time. Otherwise some calls do nothing, ever more of them. Thread safe.
class ScalingTurns {
 public:
  ScalingTurn begin();
  /// `useful`: a call that watches has met denormals, one that scales has scaled some.
  void end(ScalingTurn turn, bool useful, std::chrono::nanoseconds time);

 private:
  void pause();

  static constexpr int kWatched = 3;      ///< calls, the fastest of which counts
  static constexpr int kMaxFailures = 2;  ///< in a row
  static constexpr int kFirstPause = 16, kLongestPause = 4096;
  std::atomic<int> pause_ = 0, next_pause_ = kFirstPause;  ///< calls
  std::atomic<int> watched_ = 0, failures_ = 0;
  std::atomic<std::int64_t> usual_ = 0;  ///< nanoseconds of a call that scales nothing
};

/// The latest scaled weights of a convolution. Thread safe.
template <class T>
class ConvScaling {
 public:
  ScalingTurns turns;

  /// Returns the weights for the elements of x, or null if no channel can be scaled, or where
  /// memory is short.
  std::shared_ptr<const ScaledWeights<T>> find(const PlanesSchedule<T>& plan,
                                               const tensor::Operand& x) noexcept;
  /// Returns a copy of x with its strides, scaled by channel, in memory that calls share, or null
  /// where memory is short. Precondition: `weights` were found for x.
  std::unique_ptr<T[]> copy(const tensor::Operand& x, const ScaledWeights<T>& weights) noexcept;
  /// Gives the memory of a copy back, for the next call with such an x.
  void give_back(std::unique_ptr<T[]> copy, const tensor::Operand& x) noexcept;

 private:
  using Exponents = ChannelExponents<T>;
  std::shared_ptr<const Exponents> weight_exponents(const PlanesSchedule<T>& plan);

  std::mutex mutex_;  ///< of what follows
  std::shared_ptr<const Exponents> weight_exponents_;
  std::shared_ptr<const ScaledWeights<T>> latest_;
  std::unique_ptr<T[]> spare_;
  std::int64_t spare_size_ = 0;
};

/// Scales planes that a task has filled, whose channels begin at `first_channel` of all groups'.
template <class T>
void scale_planes(const PlanesSchedule<T>& plan, const ScaledWeights<T>& weights,
                  std::int64_t first_channel, T* planes);

}  // namespace scanloom::kernels
