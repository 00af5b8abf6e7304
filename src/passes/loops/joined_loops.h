// Loops that become one: what they must have in common, and how one takes in all that another one
// has. For the passes that join loops of a region.
#pragma once

#include <compare>
#include <optional>

#include "ir/module.h"

namespace scanloom::passes {

/// How many steps a loop takes; loops with equal ones take equally many, or fail.
struct StepCount {
  std::optional<ir::Dim> steps;  ///< surely that many, or the loop fails
  ir::ValueId trip_count;        ///< where that is not known: the value that says it
  friend auto operator<=>(const StepCount&, const StepCount&) = default;
};

/// nullopt: too little is known. A trip count that may be too large to be one leaves it to the
/// slices.
std::optional<StepCount> count_steps(const ir::Module& module, const ir::Node& loop);
/// How many slices of a scanned value there are, whatever the sizes.
std::optional<ir::Dim> slices_of(const ir::Module& module, const ir::Node& loop,
                                 std::size_t scanned);

/// Whether the loop may be joined with another one at all: nothing but counts ends it, its steps
/// cannot fail and have sizes that are known before, and it is not too large.
bool can_be_joined(const ir::Module& module, const ir::Node& loop);
/// Whether the bodies of both are small enough for one.
bool bodies_fit_together(const ir::Module& module, ir::NodeId a, ir::NodeId b);

/// Bounds what is in memory at once when loops of which each stacks rows become one.
constexpr std::int64_t kMaxStackedBytes = std::int64_t{64} << 20;
/// Of a stacked result, at most kMaxStackedBytes; symbolic sizes are taken as if they were 1.
std::int64_t stacked_bytes(const ir::Module& module, ir::ValueId stack);
/// Of all stacked results.
std::int64_t stacked_bytes(const ir::Module& module, const ir::Node& loop);

/// Puts all that the loop `from` has behind what `into` has of the same kind. `from` is left
/// without an operator, until restore_order takes it out of its region.
void absorb(ir::Module& module, ir::NodeId into, ir::NodeId from);
/// Puts each node of the region behind those that make its operands, otherwise as they were.
/// Precondition: no node depends on itself.
void restore_order(ir::Module& module, ir::RegionId region);

}  // namespace scanloom::passes
