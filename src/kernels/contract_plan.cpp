#include "kernels/contract_plan.h"

#include <algorithm>
#include <iterator>

namespace scanloom::kernels {

Offsets offsets_at(const std::vector<OuterAxis>& axes, std::int64_t index) {
  Offsets at;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t along = index % axes[i].size;
    index /= axes[i].size;
    at.a += along * axes[i].a;
    at.b += along * axes[i].b;
    at.out += along * axes[i].out;
    at.packed += along * axes[i].packed;
  }
  return at;
}

namespace {

ContractionAxis swapped(const ContractionAxis& axis) {
  return {axis.size, axis.b, axis.a, axis.out};
}

}  // namespace

std::vector<ContractionAxis> axes_of(const ContractionAxes& axes, bool swap) {
  std::vector<ContractionAxis> list;
  for (const ContractionAxis& axis : axes.view()) list.push_back(swap ? swapped(axis) : axis);
  return list;
}

// Removes and returns the axis best walked by vectors (or by rows): one with adjacent elements,
// otherwise the last.
ContractionAxis take_axis(std::vector<ContractionAxis>& axes, bool along_vectors) {
  if (axes.empty()) return {1, 0, 0, 0};
  auto best = axes.end() - 1;
  if (along_vectors)
    for (auto axis = axes.begin(); axis != axes.end(); ++axis)
      if (axis->b == 1 && axis->out == 1) best = axis;
  const ContractionAxis taken = *best;
  axes.erase(best);
  return taken;
}

// Whether a's axes should lie along the vectors instead of b's.
bool should_swap(const Contraction& c, std::int64_t lanes, bool a_constant, bool b_constant) {
  std::vector<ContractionAxis> rows = axes_of(c.m, false), columns = axes_of(c.n, false);
  std::vector<ContractionAxis> across = axes_of(c.m, true);
  const ContractionAxis m = take_axis(across, true), n = take_axis(columns, true);
  if (n.size < lanes && m.size > n.size) return true;
  if (n.size < 2 * lanes && a_constant && !b_constant && m.size >= 2 * lanes) return true;
  // B's columns are not adjacent, but A's rows are.
  return n.b != 1 && !b_constant && m.b == 1 && m.size >= lanes;
}

void append_outer(std::vector<OuterAxis>& to, const std::vector<ContractionAxis>& axes) {
  for (const ContractionAxis& axis : axes) to.push_back({axis.size, axis.a, axis.b, axis.out, 0});
}

// The axes along which the matrix B changes; the products of the others share it.
std::vector<OuterAxis> axes_of_b(const std::vector<OuterAxis>& depth,
                                 const std::vector<OuterAxis>& outer) {
  std::vector<OuterAxis> axes;
  for (const std::vector<OuterAxis>* list : {&depth, &outer})
    std::ranges::copy_if(*list, std::back_inserter(axes),
                         [](const OuterAxis& axis) { return axis.b != 0; });
  return axes;
}

}  // namespace scanloom::kernels
