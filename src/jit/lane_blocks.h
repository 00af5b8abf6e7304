// How the lanes of a loop are dealt out to registers.
#pragma once

#include <cstdint>
#include <vector>

namespace scanloom::jit {

/// Consecutive lanes that one register of `width` lanes, a power of two, holds. Of fewer lanes than
/// that, but more than half, its second half holds the last ones: some lie in it twice, with the
/// same value, so that whole halves are loaded and stored and nothing else is ever computed with.
struct LaneBlock {
  std::int64_t first = 0;
  unsigned width = 1;
  unsigned lanes = 1;
};

/// What may hold a lane a second time: nothing; the same block; an earlier block, too, where lanes
/// are not updated in place.
enum class LaneReuse : std::uint8_t { none, within_block, any };

/// Lanes of a vector, and of the blocks that are taken as long as they fit; powers of two.
struct LaneWidths {
  unsigned vector, block;
};

/// Blocks as wide as they may be; then what is left, in blocks that waste less than half of a
/// vector. Precondition: count > 0.
std::vector<LaneBlock> cut_lanes(std::int64_t count, LaneWidths widths, LaneReuse reuse);

}  // namespace scanloom::jit
