// How deeply regions are nested: for code that recurses over them.
#pragma once

#include "ir/module.h"

namespace scanloom::ir {

/// The depth of the deepest region; 0: only the main graph. Does not recurse.
int nesting(const Module& module);

}  // namespace scanloom::ir
