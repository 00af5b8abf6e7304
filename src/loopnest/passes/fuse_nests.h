// Fuses nests, so that there are fewer of them and fewer values in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Fuses nests over the same axes, also across statements that neither depends on. Values that only
/// the fused nest reads stay in its registers. Writes to buffers that nothing in `parts` or
/// `read_later` reads are dropped.
std::vector<Part> fuse_nests(std::vector<Part> parts, const IsBuffer& is_buffer,
                             const std::vector<Use>& read_later);

}  // namespace scanloom::loopnest
