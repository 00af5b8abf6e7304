// Fuses two loops of which the second scans the rows of the first.
#pragma once

#include <cstdint>
#include <vector>

#include "base/expected.h"
#include "ir/module.h"

namespace scanloom::passes {

/// Fuses the consumer into `producer` and returns whether it did: the consumer must need nothing of
/// the producer except its rows, in the order in which they are made, and one loop must be no
/// slower than two. The caller checks everything else that makes loops fit together. `uses`: from
/// ir::count_uses, kept up to date. `nodes`: from NodeOrder::between. Errors: internal.
Expected<bool> fuse_rows(ir::Module& module, ir::NodeId producer, ir::NodeId consumer,
                         std::vector<std::uint32_t>& uses, std::vector<ir::NodeId> nodes);

}  // namespace scanloom::passes
