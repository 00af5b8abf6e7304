// What the bounds of a slice select of an axis, and of a tensor. Shared by reading and writing such
// a part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "ir/op_def.h"
#include "tensor/call.h"
#include "tensor/shape.h"

namespace scanloom::ops {

/// One axis of a slice: elements first, first + step, ..., `count` of them.
struct Cut {
  std::int64_t first = 0, step = 1, count = 0;
};

/// Whether the end of a forward slice can only mean "to the last element or beyond".
[[nodiscard]] constexpr bool is_open_end(std::int64_t end) {
  return end == std::numeric_limits<std::int32_t>::max() || end > std::int64_t{1} << 40;
}
/// Whether the end of a backward slice can only mean "to the first element or before".
[[nodiscard]] constexpr bool is_open_front(std::int64_t end) {
  return end < -(std::int64_t{1} << 40);
}

/// Negative bounds count from the end; then both are clamped to what the step can reach. ONNX
/// differs from Python in one point: a start before the first element means the first, backwards
/// too. Precondition: step != 0.
[[nodiscard]] inline Cut cut_axis(std::int64_t size, std::int64_t start, std::int64_t end,
                                  std::int64_t step) {
  if (size == 0) return {0, step, 0};
  const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto from_front = [&](std::int64_t bound) { return bound < 0 ? bound + size : bound; };
  const std::int64_t first = std::clamp<std::int64_t>(from_front(start), 0, highest);
  const std::int64_t last = std::clamp(from_front(end), lowest, highest);
  const std::int64_t span = step > 0 ? last - first : first - last;
  if (span <= 0) return {first, step, 0};
  // |step| in unsigned arithmetic: the least i64 has no positive counterpart.
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
  return {first, step,
          static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / stride) + 1};
}

/// Narrows the view along one of its axes, which had all of its elements so far.
inline void apply_cut(ir::ViewOf& view, int axis, const Cut& cut) {
  if (cut.count > 0) view.offset += cut.first * view.strides[axis];
  if (cut.count > 1) view.strides[axis] *= cut.step;
  view.dims[axis] = cut.count;
}

/// Returns the result of `slice` as a view of its first operand; nullopt on an error, which shape
/// inference reports. Precondition: the operands have the element types that `slice` takes.
std::optional<ir::ViewOf> slice_view(std::span<const tensor::Operand> inputs);

}  // namespace scanloom::ops
