// Planes of padded inputs with the channels last: rows of positions, each with its channels and
// maybe a gap. Copying them copies whole positions, and the taps of one position are adjacent.
// Used by conv.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/conv_band.h"
#include "kernels/padded_planes.h"
#include "opmath/conv_geometry.h"

namespace scanloom::kernels {

/// A band of padded positions. Along an axis whose kernel has one position, only the positions that
/// windows meet are kept.
struct ChannelsLastPlanes {
  tensor::ConvGeometry geometry;
  AxisSizes x_axis{};  ///< strides of x, whose channels are adjacent
  AxisSizes step{};    ///< positions from one window to the next
  AxisSizes size{};    ///< positions
  AxisSizes pitch{};   ///< elements from one position to the next
  std::int64_t elements = 0;

  /// Lays out bands of so many windows along axis 0. Returns false, with sizes undefined, if there
  /// would be more than `limit` elements.
  bool lay_out(std::int64_t bands, std::int64_t bytes, std::int64_t limit);
  /// Offsets of the taps of a window: channels, then kernel positions.
  [[nodiscard]] std::vector<std::int64_t> taps() const;
  /// Fills the planes of a band that begins with window `first` of axis 0.
  template <class T>
  void fill(const T* x, std::int64_t first, T* to) const;

 private:
  /// Positions [begin, end) of an axis, counted from the band's first, that are inside x, and the
  /// element of x along the axis that position 0 is.
  struct Inside {
    std::int64_t begin = 0, end = 0, from = 0;
  };
  [[nodiscard]] Inside inside(std::size_t axis, std::int64_t first) const;
  /// Positions of x from one position of the planes to the next.
  [[nodiscard]] std::int64_t sampling(std::size_t axis) const {
    return geometry.kernel[axis] == 1 ? geometry.stride[axis] : 1;
  }
};

/// Whether elements so many bytes apart share few sets of the L1 cache, so that those of a tile of
/// positions displace one another.
constexpr bool share_cache_sets(std::int64_t bytes) { return bytes % 4096 == 0; }
/// Whether positions so many bytes apart, of several lines of x, do so too.
constexpr bool lines_share_cache_sets(std::int64_t bytes) { return bytes % 512 == 0; }

}  // namespace scanloom::kernels
