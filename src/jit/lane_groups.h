// How the lanes of a loop are divided into groups, each of which runs all steps.
#pragma once

#include <cstdint>

#include "jit/interface.h"
#include "jit/lane_blocks.h"
#include "jit/lane_program.h"

namespace scanloom::jit {

/// `count` groups of `lanes` lanes; the last group takes the rest.
struct LaneGroups {
  LaneWidths widths;
  std::int64_t count, lanes;
};

LaneGroups divide_lanes(const LoopSource& source, const LaneProgram& program,
                        unsigned vector_bytes);

/// Whether to compute all lanes of a step before the next step, although states are then in memory.
/// Several groups would read rows in pieces, recompute uniform elements, wait for the latency of
/// two vectors, or keep in memory what does not fit in registers.
bool takes_all_lanes_per_step(const LoopSource& source, const LaneProgram& program,
                              unsigned vector_bytes);

}  // namespace scanloom::jit
