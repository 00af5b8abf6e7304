// Planes of padded inputs: for every channel and every phase of the strides, the elements of x (or
// of the padding) that are `stride` apart. On a common grid the element that a tap of a window
// meets is at a fixed distance from the window's position, whatever the strides and dilations, so
// that vectors of adjacent positions read adjacent elements. Used by conv and conv_transpose.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/conv_band.h"
#include "opmath/conv_geometry.h"
#include "tensor/call.h"

namespace scanloom::kernels {

using AxisSizes = std::array<std::int64_t, tensor::kMaxSpatial>;

/// Planes are made for a band of the first spatial axis at a time, which stays in the cache.
inline constexpr std::int64_t kPlanesBytes = 256 * 1024;

/// Limits on the tables of a call, which are built at binding, where no limit of a run counts them.
inline constexpr std::int64_t kMaxConvLines = std::int64_t{1} << 18;
inline constexpr std::int64_t kMaxConvTaps = std::int64_t{1} << 20;

/// Element q of axis i of a plane is element (first + q) * stride[i] + phase - pad[i] of x, where
/// `first` is the band's begin for axis 0 and 0 for the others; it is 0 outside of x.
struct PlaneGrid {
  int spatial = 0;
  AxisSizes in{}, x_axis{};             ///< sizes and strides of x
  AxisSizes stride{}, pad{};            ///< a negative pad leaves out elements
  AxisSizes size{}, pitch{};            ///< of a plane
  std::int64_t plane = 0;               ///< elements
  std::vector<AxisSizes> outer_phases;  ///< of all axes except the last
  std::int64_t last_phases = 1;         ///< 1, or as many as the last stride

  [[nodiscard]] std::size_t last() const { return static_cast<std::size_t>(spatial - 1); }
  /// Planes per channel.
  [[nodiscard]] std::int64_t phases() const {
    return static_cast<std::int64_t>(outer_phases.size()) * last_phases;
  }
  /// Sets pitch and plane from size.
  void lay_out();
};

/// Fills the planes of a band that begins at position `first` of axis 0.
template <class T>
class PlaneFill {
 public:
  PlaneFill(const PlaneGrid& grid, const ConvFns<T>& fns, std::int64_t first);

  /// All phases of one channel, one plane after another.
  void fill(const T* x, T* to) const;

 private:
  void fill_phase(const T* x, const AxisSizes& phase, T* to) const;
  void fill_run(const T* x, const AxisSizes& phase, std::int64_t row, std::int64_t run,
                T* to) const;
  void fill_rows(const T* x, std::int64_t line, std::int64_t step, std::int64_t rows, T* to) const;
  [[nodiscard]] std::int64_t first_of(std::size_t axis) const { return axis == 0 ? first_ : 0; }

  const PlaneGrid& grid_;
  const ConvFns<T>& fns_;
  std::int64_t first_;
  ConvFill<T> row_;
  std::int64_t skipped_ = 0;  ///< elements of a row of x before the band
};

/// Calls f(index) for all indices below `sizes` in row-major order.
template <class F>
void for_each_position(int axes, const AxisSizes& sizes, F&& f) {
  std::int64_t count = 1;
  for (int axis = 0; axis < axes; ++axis) count *= sizes[static_cast<std::size_t>(axis)];
  for (std::int64_t number = 0; number < count; ++number) {
    AxisSizes index{};
    std::int64_t rest = number;
    for (auto axis = static_cast<std::size_t>(axes); axis-- > 0; rest /= sizes[axis])
      index[axis] = rest % sizes[axis];
    f(index);
  }
}

}  // namespace scanloom::kernels
