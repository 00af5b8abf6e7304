#include "passes/nodes/window_indices.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "tensor/for_each.h"

namespace scanloom::passes {
namespace {

/// Indices along one axis that are a fixed number of elements apart along one axis of the tuples.
struct Course {
  std::int64_t first = 0, step = 0;
  int along = -1;  ///< -1: all are the same
};

/// Returns how component `i` of the tuples moves; nullopt if it moves along several axes.
std::optional<Course> course_of(const std::vector<std::int64_t>& numbers,
                                const tensor::Shape& outer, std::int64_t length, std::int64_t i) {
  const tensor::Shape strides = tensor::contiguous_strides(outer);
  const auto at = [&](std::int64_t tuple) {
    return numbers[static_cast<std::size_t>(tuple * length + i)];
  };
  Course course{.first = at(0)};
  for (int axis = 0; axis < outer.rank(); ++axis) {
    if (at(strides[axis]) == course.first) continue;
    if (course.along >= 0) return std::nullopt;
    course.along = axis;
    course.step = at(strides[axis]) - course.first;
  }
  bool follows = true;
  tensor::for_each_index(outer.dims(), [&](const tensor::Shape& index) {
    std::int64_t tuple = 0;
    for (int axis = 0; axis < outer.rank(); ++axis) tuple += index[axis] * strides[axis];
    const std::int64_t moved = course.along < 0 ? 0 : index[course.along] * course.step;
    follows &= at(tuple) == course.first + moved;
  });
  return follows ? std::optional(course) : std::nullopt;
}

/// Adds the slice of `count` elements along the axis; returns false if it is outside.
bool add_slice(ConstantWindow& window, std::int64_t axis, const Course& course, std::int64_t count,
               std::int64_t size) {
  const std::int64_t last = course.first + (count - 1) * course.step;
  if (last < 0 || last >= size) return false;
  // One beyond the last element; below 0 it would count from the end.
  const std::int64_t end = course.step > 0 ? last + 1 : last - 1;
  window.axes.push_back(axis);
  window.starts.push_back(course.first);
  window.ends.push_back(end < 0 ? std::numeric_limits<std::int64_t>::min() : end);
  window.steps.push_back(course.step);
  return true;
}

}  // namespace

std::optional<ConstantWindow> window_of_tuples(const tensor::Tensor& tuples,
                                               const std::vector<ir::Dim>& sizes) {
  const auto numbers = to_integers(tuples);
  const tensor::Shape& shape = tuples.shape();
  if (!numbers || shape.rank() < 2 || tuples.elements() == 0) return std::nullopt;
  tensor::Shape outer = shape;
  const std::int64_t length = shape[shape.rank() - 1];
  outer.erase(shape.rank() - 1);
  // Axes of size 1 do not belong to the window.
  if (std::ranges::find(outer, 1) != outer.end() || std::cmp_greater(length, sizes.size()))
    return std::nullopt;
  ConstantWindow window;
  int next = 0;  // axes of the tuples must come in the order of the axes that they name
  for (std::int64_t i = 0; i < length; ++i) {
    const ir::Dim size = sizes[static_cast<std::size_t>(i)];
    auto course = course_of(*numbers, outer, length, i);
    if (!course || !size.is_constant()) return std::nullopt;
    if (course->first < 0) course->first += size.value();
    if (course->first < 0 || course->first >= size.value()) return std::nullopt;
    if (course->along < 0) {
      window.picked.push_back(i);
      window.indices.push_back(course->first);
      continue;
    }
    if (course->along != next || !add_slice(window, i, *course, outer[next], size.value()))
      return std::nullopt;
    ++next;
  }
  // Along an axis that no index follows, the same elements would be written repeatedly.
  return next == outer.rank() ? std::optional(std::move(window)) : std::nullopt;
}

}  // namespace scanloom::passes
