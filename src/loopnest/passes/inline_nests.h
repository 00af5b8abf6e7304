// Inlines element programs into the reductions and nests that read their results.
#pragma once

#include <cstdint>
#include <vector>

#include "loopnest/part.h"

namespace scanloom::loopnest {

/// Replaces each read of a nest's result by the nest's program, if the nest has no reductions and
/// all readers are nests that read every element once. Nothing is computed more often, except that
/// programs of a few cheap instructions may have several readers. Results that are no longer read
/// stay; fuse_nests drops them. `is_buffer` and `read_later` are those of fuse_nests.
void inline_nests(std::vector<Part>& parts, const IsBuffer& is_buffer,
                  const std::vector<Use>& read_later);

}  // namespace scanloom::loopnest
