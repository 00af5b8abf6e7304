// Loops whose gradient keeps the states of only some steps and computes the others again: a loop
// over chunks of steps, in which each chunk is a loop.
#pragma once

#include <span>
#include <vector>

#include <scanloom/scan.h>

#include "expr/loop.h"

namespace scanloom::expr {

/// Like make_loop, in chunks. `chunks` says for each level, outermost first, how many steps of that
/// level make one chunk, as a scalar i64. Without chunks it is make_loop. Stacks that hold states
/// know the last one. Precondition: the loop has a trip count, no other condition, and scans and
/// stacks forwards along the first axis.
[[nodiscard]] std::vector<Expr> make_chunked_loop(LoopSpec spec, const std::vector<Expr>& chunks);

/// Returns the steps of a chunk by level, as `wanted` asks, for a loop of `steps` steps with these
/// states. Errors: an interval below 1; for a budget: unknown sizes or steps, or a budget that is
/// too small.
[[nodiscard]] Expected<std::vector<Expr>> chunks_of(const Checkpoint& wanted, const Expr& steps,
                                                    std::span<const Expr> states);

/// Returns the steps of a chunk by level, so that a gradient keeps at most `rows` states: those of
/// the chunks of each level and of the steps of the last one. Uses as few levels as that allows.
/// Error: no number of levels suffices.
[[nodiscard]] Expected<std::vector<std::int64_t>> chunks_for(std::int64_t steps, std::int64_t rows);

}  // namespace scanloom::expr
