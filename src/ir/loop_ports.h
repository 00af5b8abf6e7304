// LoopPorts: how the operands, body arguments, yields and results of the one loop node belong
// together. A loop has ports of exactly four kinds; the order below is the order everywhere.
//
//   node inputs     [trip_count?] [condition?] captured... carried initial... scanned...
//   body arguments                             captured... carried...         scanned...
//   body yields     [keep_going?]                          carried next...    stacked row...
//   node outputs                                           carried final...   stacked...
#pragma once

#include <cstdint>
#include <vector>

namespace scanloom::ir {

/// From here on a trip count means none: exporters write "no limit" as a number too large to be
/// meant.
inline constexpr std::int64_t kEndlessTripCount = std::int64_t{1} << 53;
/// The step limit of loops without trip count, unless another one is given.
inline constexpr std::int64_t kDefaultMaxSteps = 100'000'000;

/// A slice in, per step. Step k sees `part` elements of `axis` from start + k * stride on; a
/// negative start counts from the end, a negative stride walks back. squeeze: the axis is removed
/// (part 1).
struct ScannedPort {
  std::int64_t axis = 0;  ///< of the outer value; normalised, >= 0
  std::int64_t start = 0;
  std::int64_t stride = 1;
  std::int64_t part = 1;
  bool squeeze = true;
  friend bool operator==(const ScannedPort&, const ScannedPort&) = default;
};

/// A slice out, per step. insert: the row gets a new axis there (stack); otherwise rows are
/// concatenated along it. reverse: the first step's row stands last.
struct StackedPort {
  std::int64_t axis = 0;  ///< of the result; normalised, >= 0
  bool reverse = false;
  bool insert = true;
  friend bool operator==(const StackedPort&, const StackedPort&) = default;
};

struct LoopPorts {
  bool has_trip_count = false;  ///< an i64 of one element; negative means zero steps
  bool has_condition = false;   ///< a boolean of one element: whether the first step runs
  bool has_keep_going =
      false;  ///< yield 0: whether another step may follow; the firing step counts
  /// Whether a step that changes the sizes of a carried value fails; otherwise they may change.
  bool fixed_sizes = false;
  bool over_items = false;  ///< what errors call a step of it: an item of a sequence
  /// Whether states that are sums and products may be computed in another order, so that their last
  /// bits change: of gradients, which promise no order. A loop without it keeps its bits.
  bool reassociates = false;
  std::uint32_t captured = 0;
  std::uint32_t carried = 0;
  std::vector<ScannedPort> scanned = {};
  std::vector<StackedPort> stacked = {};

  [[nodiscard]] std::uint32_t first_captured_input() const {
    return std::uint32_t{has_trip_count} + std::uint32_t{has_condition};
  }
  [[nodiscard]] std::uint32_t first_carried_input() const {
    return first_captured_input() + captured;
  }
  [[nodiscard]] std::uint32_t first_scanned_input() const {
    return first_carried_input() + carried;
  }
  [[nodiscard]] std::uint32_t input_count() const {
    return first_scanned_input() + static_cast<std::uint32_t>(scanned.size());
  }
  [[nodiscard]] std::uint32_t argument_count() const {
    return captured + carried + static_cast<std::uint32_t>(scanned.size());
  }
  [[nodiscard]] std::uint32_t first_carried_yield() const { return std::uint32_t{has_keep_going}; }
  [[nodiscard]] std::uint32_t first_stacked_yield() const {
    return first_carried_yield() + carried;
  }
  [[nodiscard]] std::uint32_t yield_count() const {
    return first_stacked_yield() + static_cast<std::uint32_t>(stacked.size());
  }
  [[nodiscard]] std::uint32_t output_count() const {
    return carried + static_cast<std::uint32_t>(stacked.size());
  }
  friend bool operator==(const LoopPorts&, const LoopPorts&) = default;
};

}  // namespace scanloom::ir
