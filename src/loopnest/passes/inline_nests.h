// Element programs moved into the reductions and nests that read their results.
#pragma once

#include <cstdint>
#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Puts the program of a nest without reductions in the place of each read of its result, where all
/// readers are nests that read every element of it once: nothing is computed more often, but by
/// several readers, which only programs of a few cheap instructions are. What nobody reads any more
/// stays, for fuse_nests to leave out. `is_buffer` and `read_later` as there.
void inline_nests(std::vector<Part>& parts, const IsBuffer& is_buffer,
                  const std::vector<Use>& read_later);

}  // namespace scanloom::loopnest
