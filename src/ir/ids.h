// Typed ids of the contents of a Module.
#pragma once

#include "base/id.h"

namespace scanloom::ir {

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;
using RegionId = Id<struct RegionTag>;
using LocationId = Id<struct LocationTag>;

}  // namespace scanloom::ir
