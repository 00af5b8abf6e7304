// The slices that a scanned port reads of an axis of known size: the one definition for inference,
// interpreter and planner.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/loop_ports.h"
#include "tensor/dim.h"

namespace scanloom::ir {

/// Slice k is the `part` elements from first + k * stride on, for k in [0, count).
struct ScanWindow {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// The slices that fit entirely; with a negative stride, slice k ends at start + k * stride. No
/// slices if start is outside [-size, size). Preconditions: size >= 0, part >= 1, stride != 0.
[[nodiscard]] constexpr ScanWindow scan_window(const ScannedPort& port, std::int64_t size) {
  if (port.start < -size || port.start >= size || port.part > size) return {};
  const std::int64_t start = port.start < 0 ? port.start + size : port.start;
  if (port.stride > 0) {
    const std::int64_t room = size - start - port.part;
    return {start, room < 0 ? 0 : room / port.stride + 1};
  }
  const std::int64_t first = start - port.part + 1;
  // Divides before negating: the stride may be the smallest integer.
  return {first, first < 0 ? 0 : 1 - first / port.stride};
}

/// The number of slices of an axis as a size; the axis's own size if it is walked completely,
/// element by element. nullopt: it would need a number. Preconditions: as above.
[[nodiscard]] constexpr std::optional<tensor::Dim> slice_count(const ScannedPort& port,
                                                               tensor::Dim size) {
  if (size.is_constant()) return tensor::Dim(scan_window(port, size.value()).count);
  const bool forwards = port.start == 0 && port.stride == 1;
  const bool backwards = port.start == -1 && port.stride == -1;
  if (port.part == 1 && (forwards || backwards)) return size;
  return std::nullopt;
}

}  // namespace scanloom::ir
