// Fewer nests, and fewer values in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "loopnest/loopnest.h"
#include "plan/codegen/parts.h"

namespace scanloom::plan {

/// Joins nests over the same axes, also across statements that neither depends on; what only the
/// nest itself reads stays in its registers. What nobody in `parts` or `read_later` reads of
/// a buffer is not written.
std::vector<Part> fuse_nests(std::vector<Part> parts, const IsBuffer& is_buffer,
                             const std::vector<Use>& read_later);

/// Axes in the order in which vectors are best taken along the last, neighbours joined where all
/// operands walk both in one stride.
void order_axes(loopnest::Nest& nest);

}  // namespace scanloom::plan
