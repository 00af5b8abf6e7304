// Fewer nests, and fewer values in memory.
#pragma once

#include <cstdint>
#include <vector>

#include "jit/interface.h"
#include "plan/parts.h"

namespace scanloom::plan {

/// Joins nests over the same axes, also across statements that neither depends on; what only the
/// nest itself reads stays in its registers. `local` is the slot whose contents end with the step:
/// what nobody in `parts` or `read_later` reads there is not written.
std::vector<Part> fuse_nests(std::vector<Part> parts, std::int32_t local,
                             const std::vector<Use>& read_later);

/// Axes in the order in which vectors are best taken along the last, neighbours joined where all
/// operands walk both in one stride.
void arrange_axes(jit::Nest& nest);

}  // namespace scanloom::plan
