// Windows that are written to, for formats that only have scatters by the numbers of elements.
#pragma once

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// Writes each scatter_slice as a scatter_elements over all elements in their order, whose indices
/// are what slices and gathers pick from the numbers of these. No pass of list.inc: runs are better
/// off without. Errors: internal.
Expected<void> decompose_windows(ir::Module& module);

}  // namespace scanloom::passes
