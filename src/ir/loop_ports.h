// LoopPorts: how the operands, body arguments, yields and results of the one loop node correspond.
// A loop has ports of exactly four kinds; the order below is the same everywhere.
//
//   node inputs     [trip_count?] [condition?] captured... carried initial... scanned...
//   body arguments                             captured... carried...         scanned...
//   body yields     [keep_going?]                          carried next...    stacked row...
//   node outputs                                           carried final...   stacked...
#pragma once

#include <cstdint>
#include <vector>

namespace scanloom::ir {

/// A trip count this large means none: exporters write "no limit" as a huge number.
inline constexpr std::int64_t kEndlessTripCount = std::int64_t{1} << 53;
/// The default step limit of loops without a trip count.
inline constexpr std::int64_t kDefaultMaxSteps = 100'000'000;

/// An input slice per step. Step k sees `part` elements of `axis` from start + k * stride on; a
/// negative start counts from the end, a negative stride walks backwards. squeeze: removes the axis
/// (part 1).
struct ScannedPort {
  std::int64_t axis = 0;  ///< of the outer value; normalised, >= 0
  std::int64_t start = 0;
  std::int64_t stride = 1;
  std::int64_t part = 1;
  bool squeeze = true;
  friend bool operator==(const ScannedPort&, const ScannedPort&) = default;
};

/// An output slice per step. insert: the row gets a new axis there (stack); otherwise rows are
/// concatenated along it. reverse: the first step's row comes last.
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
  /// Whether carried values must keep their sizes; a step that changes them then fails.
  bool fixed_sizes = false;
  bool over_items = false;  ///< errors call a step an item of a sequence
  /// Whether sums and products in states may be reordered, which changes their last bits: for
  /// gradients, which promise no order. Other loops keep their bits.
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
