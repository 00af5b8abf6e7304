// Whether it is worth copying a module for interchange_batch, which changes few.
#pragma once

#include "ir/module.h"

namespace scanloom::passes {

/// Whether some loop has a batch and products, so that the pass may divide it.
bool has_batches(const ir::Module& module);

}  // namespace scanloom::passes
