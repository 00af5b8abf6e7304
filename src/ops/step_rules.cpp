#include "ops/step_rules.h"

#include <algorithm>

#include "tensor/shape.h"

namespace scanloom::ops {

std::optional<std::vector<int>> axes_of(const ir::StepSite& s, std::size_t operand) {
  std::vector<std::int64_t> named;
  const int attribute = s.node.op->attr_index("axes");
  if (s.has(operand)) {
    const auto integers = s.integers(operand);
    if (!integers) return std::nullopt;
    named = *integers;
  } else if (attribute >= 0 && s.node.attrs[static_cast<std::size_t>(attribute)].present()) {
    named = s.node.attrs[static_cast<std::size_t>(attribute)].integers();
  } else {
    return std::nullopt;
  }
  const auto axes = tensor::normalise_axes(named, s.type(0).rank());
  if (!axes) return std::nullopt;
  return std::vector<int>(axes->begin(), axes->end());
}

std::optional<int> attribute_axis(const ir::StepSite& s, int rank) {
  return tensor::normalise_axis(attr_of(s.node, "axis").integer(), rank);
}

bool contains(const std::vector<int>& axes, int axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

int without(const std::vector<int>& axes, int steps) {
  return steps -
         static_cast<int>(std::ranges::count_if(axes, [&](int axis) { return axis < steps; }));
}

Expected<int> steps_of_pointwise(const ir::StepSite& s) {
  int trailing = -1;
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.along(i)) continue;
    const int here = s.type(i).rank() - 1 - s.axis(i);
    if (trailing >= 0 && here != trailing)
      return across("its operands have the steps on other axes");
    trailing = here;
  }
  for (std::size_t i = 0; i < s.node.inputs.size(); ++i) {
    if (!s.has(i) || s.along(i)) continue;
    const int axis = s.type(i).rank() - 1 - trailing;
    if (axis >= 0 && s.type(i).dims[static_cast<std::size_t>(axis)] != ir::Dim(1))
      return across("one of its operands has another size there");
  }
  return s.result_type().rank() - 1 - trailing;
}

Expected<int> steps_along_axis(const ir::StepSite& s) {
  if (attribute_axis(s, s.type(0).rank()) == s.axis(0)) return across("it works along their axis");
  return s.axis(0);
}

Expected<int> steps_unchanged(const ir::StepSite& s) { return s.axis(0); }

}  // namespace scanloom::ops
