// Decomposes writes to windows, for formats that only have scatters by element index.
#pragma once

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// Replaces each scatter_slice by a scatter_elements over all elements in order. Its indices are
/// picked by slices and gathers from the element numbers. Not in list.inc, since it makes runs
/// slower. Errors: internal.
Expected<void> decompose_windows(ir::Module& module);

}  // namespace scanloom::passes
