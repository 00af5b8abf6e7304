// One loop of two of which the second scans the rows of the first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// Whether both became one, `producer`: the consumer needs nothing but rows of it, in the order in
/// which they are made, and one loop for both is no slower. What else makes loops fit together is
/// for the caller to ask. `uses`: of ir::count_uses, kept up to date. `nodes`: of
/// NodeOrder::between. Errors: internal.
Expected<bool> fuse_rows(ir::Module& module, ir::NodeId producer, ir::NodeId consumer,
                         std::vector<std::uint32_t>& uses, std::vector<ir::NodeId> nodes);

}  // namespace scanloom::passes
