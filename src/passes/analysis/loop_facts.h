// What is known of a loop without running it: how many steps it takes, and whether its ports can
// make a step fail. Used by passes that dissolve, join or shorten loops.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/module.h"

namespace scanloom::passes {

/// Returns the only element of a constant of integers; nullopt for other values.
std::optional<std::int64_t> known_integer(const ir::Module& module, ir::ValueId value);
/// Returns the truth value of a constant of one element; nullopt for other values.
std::optional<bool> known_boolean(const ir::Module& module, ir::ValueId value);
/// Returns the constant trip count, at least 0. nullopt: there is none, or it is so large that it
/// means "no limit".
std::optional<std::int64_t> known_trip_count(const ir::Module& module, const ir::Node& loop);
/// Whether the constant trip count is so large that it means "no limit": the number of steps is
/// that of the slices, if there are any.
bool counts_without_end(const ir::Module& module, const ir::Node& loop);
/// Whether only the trip count and the scanned values end the loop.
bool runs_to_the_end(const ir::Module& module, const ir::Node& loop);

/// Whether the region is inside the body of a loop, at any depth.
bool is_in_loop(const ir::Module& module, ir::RegionId region);

/// Returns how many slices a scanned port has; nullopt if the size of the axis is not a number.
std::optional<std::int64_t> known_slices(const ir::Module& module, const ir::Node& loop,
                                         std::size_t scanned);
/// Returns how many steps the loop takes if no condition ends it, kEndlessTripCount if nothing else
/// limits it. There are enough slices for these steps.
std::optional<std::int64_t> counted_steps(const ir::Module& module, const ir::Node& loop);
/// Returns how many steps the loop takes for any data. There are enough slices for these steps.
std::optional<std::int64_t> known_steps(const ir::Module& module, const ir::Node& loop);
/// Whether the loop takes at least one step, or fails, for any data.
bool surely_steps(const ir::Module& module, const ir::Node& loop);

/// Whether the rank is known and no size depends on data: such sizes are the same in every step.
bool sizes_are_sure(const ir::Module& module, const ir::Type& type);
/// Whether no step can fail because of the sizes that it yields. With `many` steps the rows of a
/// stack are compared with each other too.
bool yields_fit(const ir::Module& module, const ir::Node& loop, bool many);
/// Whether a step does nothing but compute: no bodies of its own, traps, random samples or state.
/// `may_fail`: nodes that may fail are allowed.
bool is_plain(const ir::Module& module, ir::RegionId body, bool may_fail);

}  // namespace scanloom::passes
