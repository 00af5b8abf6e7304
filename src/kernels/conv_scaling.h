// Convolutions in blocks of filters some of whose channels are denormal, as those that training has
// switched off: their elements and weights are scaled by powers of two, so that sums keep their
// bits and no instruction waits (scaled_numbers.h).
#pragma once

#include <atomic>
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

struct ScaledChannel {
  std::int64_t channel = 0;  ///< of all groups'
  ChannelScale scale = ChannelScale::none;

  bool operator==(const ScaledChannel&) const = default;
};

/// Packed weights of a convolution, scaled for some channels.
template <class T>
struct ScaledWeights {
  std::vector<ScaledChannel> channels;  ///< that are scaled, ascending
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
  std::int64_t denormals = 0;  ///< of all channels
};

/// Whether calls of a convolution search their input for denormals, which they do for a while after
/// one has met some (base/denormals.h), and the latest scaled weights. Thread safe.
template <class T>
class ConvScaling {
 public:
  [[nodiscard]] bool searches() const { return left_.load(std::memory_order_relaxed) > 0; }
  /// Notes that a task has met a denormal operand.
  void note_met();
  /// Returns the weights for the elements of x, or null if no channel can be scaled, or where
  /// memory is short.
  std::shared_ptr<const ScaledWeights<T>> find(const PlanesSchedule<T>& plan,
                                               const tensor::Operand& x) noexcept;

 private:
  std::vector<ScaledChannel> choose_channels(const PlanesSchedule<T>& plan,
                                             const tensor::Operand& x);

  static constexpr int kPatience = 8;  ///< calls that search in vain
  static constexpr int kPause = 256;   ///< tasks after these whose denormals are not heeded
  std::atomic<int> left_ = 0;          ///< calls; less than 0: tasks
  std::mutex mutex_;                   ///< of what follows
  std::unique_ptr<const ChannelExponents<T>> of_weights_;  ///< once they are known
  std::shared_ptr<const ScaledWeights<T>> latest_;
};

/// Returns a copy of x with its strides, scaled by channel, or null where memory is short.
/// Precondition: `weights` were found for x.
template <class T>
std::unique_ptr<T[]> scaled_copy(const tensor::Operand& x,
                                 const ScaledWeights<T>& weights) noexcept;

/// Scales planes that a task has filled, whose channels begin at `first_channel` of all groups'.
template <class T>
void scale_planes(const PlanesSchedule<T>& plan, const ScaledWeights<T>& weights,
                  std::int64_t first_channel, T* planes);

}  // namespace scanloom::kernels
