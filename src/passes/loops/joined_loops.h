// What loops must have in common to be joined, and how one loop takes in everything of another.
// Used by the passes that join loops of a region.
#pragma once

#include <compare>
#include <optional>

#include "ir/module.h"

namespace scanloom::passes {

/// How many steps a loop takes. Loops with equal counts take equally many steps, or fail.
struct StepCount {
  std::optional<ir::Dim> steps;  ///< exactly that many, unless the loop fails
  ir::ValueId trip_count;        ///< the value that says it, if the number is not known
  friend auto operator<=>(const StepCount&, const StepCount&) = default;
};

/// nullopt: too little is known. A trip count that may mean "no limit" leaves it to the slices.
std::optional<StepCount> count_steps(const ir::Module& module, const ir::Node& loop);
/// Returns how many slices of a scanned value there are, for any sizes.
std::optional<ir::Dim> slices_of(const ir::Module& module, const ir::Node& loop,
                                 std::size_t scanned);

/// Whether the loop may be joined with another one at all: only counts end it, its steps cannot
/// fail and have sizes that are known beforehand, and it is not too large.
bool can_be_joined(const ir::Module& module, const ir::Node& loop);
/// Whether both bodies are small enough to become one.
bool bodies_fit_together(const ir::Module& module, ir::NodeId a, ir::NodeId b);

/// Limits the memory in use at once when loops that stack rows are joined.
constexpr std::int64_t kMaxStackedBytes = std::int64_t{64} << 20;
/// Returns the bytes of a stacked result, at most kMaxStackedBytes; symbolic sizes count as 1.
std::int64_t stacked_bytes(const ir::Module& module, ir::ValueId stack);
/// Returns the bytes of all stacked results.
std::int64_t stacked_bytes(const ir::Module& module, const ir::Node& loop);

/// Appends everything of the loop `from` to what `into` has of the same kind. `from` is left
/// without an operator until restore_order removes it from its region.
void absorb(ir::Module& module, ir::NodeId into, ir::NodeId from);
/// Puts each node of the region after the nodes that make its operands and otherwise keeps the
/// order. Precondition: no node depends on itself.
void restore_order(ir::Module& module, ir::RegionId region);

}  // namespace scanloom::passes
