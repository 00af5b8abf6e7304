// Whole sequences of similar lengths in one run, padded to the longest: for models that walk along
// them in both directions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "api/lane_group.h"

namespace scanloom {

using PaddedParts = std::span<const ManyPart* const>;

/// Cuts parts, longest first, into groups of at most `lanes` that share a run: padding and the
/// memory of a run are bounded.
std::vector<PaddedParts> padded_groups(PaddedParts parts, const ManyProgram& program,
                                       std::int64_t lanes);

/// Runs a group, in two smaller ones where the memory does not suffice. A run that fails leaves its
/// sequences to run alone. `options_of_run` is called before each run, and returns an error to end.
/// Errors: those of `options_of_run`; cancelled.
Expected<void> run_padded(ManyShared& shared, PaddedParts parts, std::int64_t lanes,
                          const std::function<Expected<RunOptions>()>& options_of_run);

}  // namespace scanloom
