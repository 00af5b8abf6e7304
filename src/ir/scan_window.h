// Which slices a scanned port reads of an axis whose size is known: the one definition for
// inference, interpreter and planner.
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

/// The slices that fit wholly; with a negative stride, slice k ends at start + k * stride. No
/// slices when start lies outside [-size, size). Preconditions: size >= 0, part >= 1, stride != 0.
[[nodiscard]] constexpr ScanWindow scan_window(const ScannedPort& port, std::int64_t size) {
  if (port.start < -size || port.start >= size || port.part > size) return {};
  const std::int64_t start = port.start < 0 ? port.start + size : port.start;
  if (port.stride > 0) {
    const std::int64_t room = size - start - port.part;
    return {start, room < 0 ? 0 : room / port.stride + 1};
  }
  const std::int64_t first = start - port.part + 1;
  // Divided before the sign is turned: the stride may be the least integer there is.
  return {first, first < 0 ? 0 : 1 - first / port.stride};
}

/// How many slices there are of an axis of that size, as a size: its own where all of it is walked,
/// element by element. nullopt: a number would have to be known. Preconditions: as above.
[[nodiscard]] constexpr std::optional<tensor::Dim> slice_count(const ScannedPort& port,
                                                               tensor::Dim size) {
  if (size.is_constant()) return tensor::Dim(scan_window(port, size.value()).count);
  const bool forwards = port.start == 0 && port.stride == 1;
  const bool backwards = port.start == -1 && port.stride == -1;
  if (port.part == 1 && (forwards || backwards)) return size;
  return std::nullopt;
}

}  // namespace scanloom::ir
