// Fewer nests, and fewer values in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Joins nests over the same axes, also across statements that neither depends on; what only the
/// nest itself reads stays in its registers. What nobody in `parts` or `read_later` reads of
/// a buffer is not written.
std::vector<Part> fuse_nests(std::vector<Part> parts, const IsBuffer& is_buffer,
                             const std::vector<Use>& read_later);

}  // namespace scanloom::loopnest
