// Which values of a stream form differ between lanes: what is computed from a value that does,
// other than from its sizes.
#pragma once

#include <vector>

#include "ir/module.h"

namespace scanloom::passes {

/// Returns, by ValueId, what depends on the elements of the arguments in `own` (by argument of the
/// top region), also by way of what loops carry.
std::vector<bool> mark_lanes(const ir::Module& form, const std::vector<bool>& own);

}  // namespace scanloom::passes
