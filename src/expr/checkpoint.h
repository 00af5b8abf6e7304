// Loops whose gradient keeps the states of some steps alone and computes the rest again: a loop
// over chunks of steps, in which each chunk is a loop.
#pragma once

#include <span>
#include <vector>

#include <scanloom/scan.h>

#include "expr/loop.h"

namespace scanloom::expr {

/// As make_loop, in chunks: `chunks` says by level, outermost first, how many steps of a level make
/// one chunk of it, as a scalar i64. Without any it is make_loop. Stacks that hold states know the
/// last one. Precondition: the loop has a trip count, no other condition, and scans and stacks
/// along the first axis, forwards.
[[nodiscard]] std::vector<Expr> make_chunked_loop(LoopSpec spec, const std::vector<Expr>& chunks);

/// By level the steps of a chunk, as `wanted` says, for a loop of `steps` steps with these states.
/// Errors: an interval below 1; of a budget: sizes or steps that are not known, too small a one.
[[nodiscard]] Expected<std::vector<Expr>> chunks_of(const Checkpoint& wanted, const Expr& steps,
                                                    std::span<const Expr> states);

/// By level the steps of a chunk, so that a gradient keeps `rows` states at most: those of the
/// chunks of each level and of the steps of the last one. As few levels as that allows. Error: no
/// number of levels does.
[[nodiscard]] Expected<std::vector<std::int64_t>> chunks_for(std::int64_t steps, std::int64_t rows);

}  // namespace scanloom::expr
