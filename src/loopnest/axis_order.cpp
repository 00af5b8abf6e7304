#include "loopnest/axis_order.h"

#include <algorithm>

#include "loopnest/access.h"

namespace scanloom::loopnest {
namespace {

/// Calls f(strides) for everything that moves along the nest's axes.
template <class F>
void for_strides(Nest& nest, F&& f) {
  for (Access& operand : nest.reads) f(operand.strides);
  for (Access& operand : nest.writes) f(operand.strides);
  for_indices(nest, [&](DynamicIndex& index) { f(index.strides); });
  for (Reduction& reduction : nest.reductions)
    for (Access& operand : reduction.reads) f(operand.strides);
}

/// Returns the cost of vectors along that axis: strides other than 1 and 0 take a load per lane.
std::int64_t cost_of_lanes(Nest& nest, std::size_t axis) {
  std::int64_t cost = 0;
  for_strides(nest, [&](const std::vector<std::int64_t>& strides) {
    const std::int64_t stride = strides[axis];
    cost += stride == 1 || stride == 0 ? 0 : 4;
  });
  return cost;
}

}  // namespace

void choose_axis_order(Nest& nest) {
  if (nest.sizes.empty() || nest.writes_by_index()) return;
  const std::size_t last = nest.sizes.size() - 1;
  std::size_t best = last;
  for (std::size_t axis = last; axis-- > 0;) {
    const bool longer = nest.sizes[axis] > nest.sizes[best] && nest.sizes[best] < 8;
    const std::int64_t gain = cost_of_lanes(nest, best) - cost_of_lanes(nest, axis);
    if (nest.sizes[axis] > 1 && (gain > 0 || (gain == 0 && longer))) best = axis;
  }
  const auto move_last = [&](std::vector<std::int64_t>& list) {
    const auto at = list.begin() + static_cast<std::ptrdiff_t>(best);
    std::rotate(at, at + 1, list.begin() + static_cast<std::ptrdiff_t>(last) + 1);
  };
  move_last(nest.sizes);
  for_strides(nest, [&](std::vector<std::int64_t>& strides) { move_last(strides); });
  // Joins axes from the inside out.
  for (std::size_t axis = last; axis-- > 0;) {
    bool one_stride = true;
    for_strides(nest, [&](const std::vector<std::int64_t>& strides) {
      one_stride &= strides[axis] == strides[axis + 1] * nest.sizes[axis + 1];
    });
    if (!one_stride) continue;
    const auto at = static_cast<std::ptrdiff_t>(axis);
    nest.sizes[axis + 1] *= nest.sizes[axis];
    nest.sizes.erase(nest.sizes.begin() + at);
    for_strides(nest,
                [&](std::vector<std::int64_t>& strides) { strides.erase(strides.begin() + at); });
  }
}

}  // namespace scanloom::loopnest
