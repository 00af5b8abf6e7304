// What can be told of a loop without running it: how many steps it takes, and whether its ports can
// fail them. For passes that dissolve, join or shorten loops.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/module.h"

namespace scanloom::passes {

/// The truth value of a constant of one element; nullopt for other values.
std::optional<bool> known_boolean(const ir::Module& module, ir::ValueId value);
/// A constant trip count, not below 0; nullopt where there is none or it is too large to be one.
std::optional<std::int64_t> known_trip_count(const ir::Module& module, const ir::Node& loop);
/// Whether there is a constant trip count that stands for none: it leaves the number of steps to
/// the slices, if there are any.
bool counts_without_end(const ir::Module& module, const ir::Node& loop);
/// Whether nothing but the trip count and the scanned values ends the loop.
bool runs_to_the_end(const ir::Module& module, const ir::Node& loop);

/// Whether the region is part of a body, however deep.
bool is_in_loop(const ir::Module& module, ir::RegionId region);

/// How many slices a scanned port has; nullopt where the size of the axis is no number.
std::optional<std::int64_t> known_slices(const ir::Module& module, const ir::Node& loop,
                                         std::size_t scanned);
/// How many steps the loop takes where no condition ends it, kEndlessTripCount where nothing else
/// limits it; its slices suffice for them.
std::optional<std::int64_t> counted_steps(const ir::Module& module, const ir::Node& loop);
/// How many steps the loop takes, whatever its data are; its slices suffice for them.
std::optional<std::int64_t> known_steps(const ir::Module& module, const ir::Node& loop);
/// Whether the loop takes a step, or fails, whatever its data are.
bool surely_steps(const ir::Module& module, const ir::Node& loop);

/// Whether the number of axes is known and no size is one that only data decide: such sizes are
/// the same in every step.
bool sizes_are_sure(const ir::Module& module, const ir::Type& type);
/// Whether no step can fail for the sizes of what it yields. With `many` steps the rows of a stack
/// are compared with each other, too.
bool yields_fit(const ir::Module& module, const ir::Node& loop, bool many);
/// Whether a step does nothing but compute: without bodies of its own, faults, draws and state.
/// `may_fail`: nodes that may fail are no obstacle.
bool is_plain(const ir::Module& module, ir::RegionId body, bool may_fail);

}  // namespace scanloom::passes
