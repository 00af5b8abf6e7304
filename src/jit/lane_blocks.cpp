#include "jit/lane_blocks.h"

#include <bit>

namespace scanloom::jit {

std::vector<LaneBlock> cut_lanes(std::int64_t count, LaneWidths widths, LaneReuse reuse) {
  std::vector<LaneBlock> blocks;
  std::int64_t first = 0;
  const auto append = [&](unsigned width, unsigned lanes) {
    const std::int64_t earlier = first + lanes - width;
    if (reuse == LaneReuse::any && earlier >= 0)
      blocks.push_back({earlier, width, width});
    else
      blocks.push_back({first, width, lanes});
    first += lanes;
  };
  while (count - first >= widths.block) append(widths.block, widths.block);
  while (first < count) {
    const auto left = static_cast<unsigned>(count - first);
    const unsigned fitting = std::bit_floor(left), enclosing = std::bit_ceil(left);
    const bool fills_vectors = left <= widths.vector || left - fitting > fitting / 2;
    if (reuse == LaneReuse::none || !fills_vectors)
      append(fitting, fitting);
    else
      append(enclosing, left);
  }
  return blocks;
}

}  // namespace scanloom::jit
