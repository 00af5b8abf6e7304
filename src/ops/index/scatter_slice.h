// The operands of scatter_slice and the part of its data that they select. Shared by the reference
// kernel and by what compiles it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ops/index/slice_cuts.h"
#include "tensor/attr.h"

namespace scanloom::ops::scatter_slice {

// Inputs.
inline constexpr int kData = 0;
inline constexpr int kUpdates = 1;
inline constexpr int kIndices = 2;
inline constexpr int kStarts = 3;
inline constexpr int kEnds = 4;
inline constexpr int kSteps = 5;
// Attributes.
inline constexpr int kAxes = 0;
inline constexpr int kPicked = 1;
inline constexpr int kReduction = 2;

/// Returns the axis in [0, rank). Precondition: `given` is in [-rank, rank).
[[nodiscard]] inline int non_negative_axis(std::int64_t given, int rank) {
  return static_cast<int>(given < 0 ? given + rank : given);
}

/// Returns the selected part of a tensor with these sizes and strides: sliced along the slice axes,
/// whole along the others. `bound(input, i)` reads element i of starts, ends and steps.
/// Precondition: no step is 0.
template <class Bound>
ir::ViewOf sliced_part(const tensor::Shape& dims, const tensor::Shape& strides,
                       const tensor::Attr* attrs, bool has_steps, Bound&& bound) {
  ir::ViewOf part{.offset = 0, .dims = dims, .strides = strides};
  const std::vector<std::int64_t>& axes = attrs[kAxes].integers();
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const int axis = non_negative_axis(axes[k], dims.rank());
    const auto i = static_cast<std::int64_t>(k);
    apply_cut(
        part, axis,
        cut_axis(dims[axis], bound(kStarts, i), bound(kEnds, i), has_steps ? bound(kSteps, i) : 1));
  }
  return part;
}

/// Removes the picked axes from the part.
inline void drop_picked(ir::ViewOf& part, const tensor::Attr* attrs) {
  const int rank = part.dims.rank();
  for (int axis = rank; axis-- > 0;) {
    const bool picked = std::ranges::any_of(attrs[kPicked].integers(), [&](std::int64_t given) {
      return non_negative_axis(given, rank) == axis;
    });
    if (!picked) continue;
    part.dims.erase(axis);
    part.strides.erase(axis);
  }
}

}  // namespace scanloom::ops::scatter_slice
