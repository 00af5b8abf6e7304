// Fewer nests, and fewer values in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/interface.h"

namespace scanloom::plan {

/// Memory that a statement reads or writes: bytes [first, last) from where the slot points.
struct Use {
  std::int32_t slot = 0;
  std::int64_t first = 0, last = 0;

  [[nodiscard]] bool overlaps(const Use& other) const {
    return slot == other.slot && first < other.last && other.first < last;
  }
};

/// The bytes between the first and the last element over axes of those sizes, none of them 0.
Use use_of(const jit::NestOperand& operand, const std::vector<std::int64_t>& sizes);

/// A statement with all the memory that it touches.
struct Part {
  jit::Statement statement;
  std::vector<Use> reads, writes;
};

/// Joins nests over the same axes, also across statements that neither depends on; what only the
/// nest itself reads stays in its registers. `local` is the slot whose contents end with the step:
/// what nobody in `parts` or `read_later` reads there is not written.
std::vector<Part> fuse_nests(std::vector<Part> parts, std::int32_t local,
                             const std::vector<Use>& read_later);

/// Axes in the order in which vectors are best taken along the last, neighbours joined where all
/// operands walk both in one stride.
void arrange_axes(jit::Nest& nest);

}  // namespace scanloom::plan
