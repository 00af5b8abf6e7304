// How deep regions lie in each other: for what recurses over them.
#pragma once

#include "ir/module.h"

namespace scanloom::ir {

/// Of the region that lies deepest; 0: nothing but the main graph. No recursion.
int nesting(const Module& module);

}  // namespace scanloom::ir
