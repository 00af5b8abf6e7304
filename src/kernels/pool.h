// What the two ways of the kernel pool have in common: lines of the result one tap at a time
// (pool.cpp), and windows of few taps all at once over rows of x that are kept (pool_rows.cpp).
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/kernel.h"
#include "kernels/simd.h"
#include "opmath/pool_geometry.h"
#include "tensor/call.h"

namespace scanloom::kernels::pool {

/// Elements of the result from which threads share them.
inline constexpr std::int64_t kThreadWork = 20'000;

/// What becomes of a window. The order of sums is that of the operators.
enum class Fold : std::uint8_t { maximum, average, sum_of_magnitudes, root_of_squares };

/// Asks now and then whether the run is to end.
class StopPoll {
 public:
  explicit StopPoll(const tensor::Call& call) : call_(call) {}

  [[nodiscard]] bool stops_before(std::int64_t taps) {
    // Taps between two questions.
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

/// All axes but the last.
inline tensor::PoolGeometry outer_axes(tensor::PoolGeometry geometry) {
  --geometry.spatial;
  return geometry;
}

/// Where line `number` of a plane of the result lies along those axes.
inline tensor::Shape line_position(const tensor::PoolGeometry& outer, std::int64_t number) {
  tensor::Shape position = tensor::Shape::filled(outer.spatial, 0);
  for (int i = outer.spatial - 1; i >= 0; --i) {
    const std::int64_t size = outer.axes[static_cast<std::size_t>(i)].out;
    position[i] = number % size;
    number /= size;
  }
  return position;
}

/// f(offset in the plane) for every row of x that the window over those axes sees, in order.
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

/// Declines where windows have many taps, or lie far apart. Preconditions: the spatial axes are
/// contiguous, x and the result are not empty, maxima are not numbered.
Prepared prepare_rows(const PrepareCtx& ctx, const tensor::PoolGeometry& geometry, Fold fold);

}  // namespace scanloom::kernels::pool
