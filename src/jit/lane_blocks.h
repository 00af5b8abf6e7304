// How the lanes of a loop are distributed over registers.
#pragma once

#include <cstdint>
#include <vector>

namespace scanloom::jit {

/// Consecutive lanes in one register of `width` lanes, a power of two. If it holds fewer lanes but
/// more than half, the upper half of the register holds the last lanes, and some lanes occur twice
/// with the same value. Thus each half of the register is loaded and stored whole, and no lane
/// outside the block is computed.
struct LaneBlock {
  std::int64_t first = 0;
  unsigned width = 1;
  unsigned lanes = 1;
};

/// Which registers may hold a lane a second time: none; the same block; or also an earlier block,
/// if lanes are not updated in place.
enum class LaneReuse : std::uint8_t { none, within_block, any };

/// Lanes of a vector, and of the blocks used while they fit; powers of two.
struct LaneWidths {
  unsigned vector, block;
};

/// Cuts lanes into blocks as wide as possible, then the rest into blocks that waste less than half
/// of a vector. Precondition: count > 0.
std::vector<LaneBlock> cut_lanes(std::int64_t count, LaneWidths widths, LaneReuse reuse);

}  // namespace scanloom::jit
