// Shared by the ways in which the kernel pool works: a line of the result one tap at a time
// (pool.cpp), and all taps of small windows at once, over a grid of all rows that a band of lines
// reads (pool_bands.cpp) or over a ring of rows of x (pool_rows.cpp).
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "opmath/pool_geometry.h"
#include "tensor/call.h"

namespace scanloom::kernels::pool {

/// Threads share a result of at least this many elements.
inline constexpr std::int64_t kThreadWork = 20'000;

/// The function of a window. Sums are taken in the operators' order.
enum class Fold : std::uint8_t { maximum, average, sum_of_magnitudes, root_of_squares };

/// Polls now and then whether the run is to stop.
class StopPoll {
 public:
  explicit StopPoll(const tensor::Call& call) : call_(call) {}

  [[nodiscard]] bool stops_before(std::int64_t taps) {
    // Taps between two polls.
    constexpr std::int64_t kTaps = 100'000;
    taps_ += taps;
    if (taps_ < kTaps) return stopped_;
    taps_ = 0;
    return stopped_ = stopped_ || call_.stop_requested();
  }

 private:
  const tensor::Call& call_;
  std::int64_t taps_ = 0;
  bool stopped_ = false;
};

template <class T>
constexpr T least() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::min();
}

/// The geometry of all axes except the last.
inline tensor::PoolGeometry outer_axes(tensor::PoolGeometry geometry) {
  --geometry.spatial;
  return geometry;
}

/// Where line `number` of a plane of the result lies along the outer axes.
inline tensor::Shape line_position(const tensor::PoolGeometry& outer, std::int64_t number) {
  tensor::Shape position = tensor::Shape::filled(outer.spatial, 0);
  for (int i = outer.spatial - 1; i >= 0; --i) {
    const std::int64_t size = outer.axes[static_cast<std::size_t>(i)].out;
    position[i] = number % size;
    number /= size;
  }
  return position;
}

/// Calls f(offset in the plane) for every row of x in the window over those axes, in order.
template <class F>
void for_each_row(const tensor::PoolGeometry& outer, const tensor::Operand& x,
                  const tensor::PoolWindow& window, F&& f) {
  if (outer.spatial == 0) return f(std::int64_t{0});
  tensor::for_each_tap(outer, x, window, f);
}

/// Offset of a plane's first element.
inline std::int64_t plane_offset(const tensor::Operand& operand, std::int64_t plane) {
  return plane / operand.dims[1] * operand.strides[0] +
         plane % operand.dims[1] * operand.strides[1];
}

template <class T>
const PoolFns<T>& fns_of(const SimdTables& tables) {
  if constexpr (std::is_same_v<T, float>) return tables.f32_pool;
  if constexpr (std::is_same_v<T, double>) return tables.f64_pool;
  if constexpr (std::is_same_v<T, std::uint8_t>) return tables.u8_pool;
  if constexpr (std::is_same_v<T, std::int8_t>) return tables.i8_pool;
}

/// Whether folding rows before lines takes fewer steps. Maxima only: sums would change their order.
inline bool pays_to_fold_rows(const tensor::PoolGeometry& geometry, Fold fold) {
  if (fold != Fold::maximum || geometry.spatial != 2) return false;
  const tensor::PoolAxis &down = geometry.axes[0], &along = geometry.axes[1];
  return down.stride * (along.kernel + 1) + down.kernel + 1 < down.kernel * along.kernel + 1;
}

template <class T>
const PoolFolds<T>& folds_of(const PoolFns<T>& fns, Fold fold) {
  switch (fold) {
    case Fold::maximum:
      return fns.maximum;
    case Fold::average:
      return fns.average;
    case Fold::sum_of_magnitudes:
      return fns.sum_of_magnitudes;
    case Fold::root_of_squares:
      break;
  }
  return fns.root_of_squares;
}

/// Declines if there are more than two spatial axes, windows have many taps or are far apart, or
/// lines are long. Preconditions: those of prepare_rows.
Prepared prepare_bands(const PrepareCtx& ctx, const tensor::PoolGeometry& geometry, Fold fold);

/// For x whose channels are last, and a result of the same layout or of one position per image.
/// Declines if there are more than two spatial axes, windows have many taps, or the channels of a
/// position do not fill cache lines. Precondition: no indices of maxima are wanted.
Prepared prepare_channels_last(const PrepareCtx& ctx, const tensor::PoolGeometry& geometry,
                               Fold fold);

/// Declines if windows have many taps or are far apart. Preconditions: the spatial axes are
/// contiguous, x and the result are not empty, and no indices of maxima are wanted.
Prepared prepare_rows(const PrepareCtx& ctx, const tensor::PoolGeometry& geometry, Fold fold);

}  // namespace scanloom::kernels::pool
