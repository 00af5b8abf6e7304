// The program after passes, as data: regions, nodes and values with their names, types and sizes.
#pragma once

#include "ir/module.h"
#include "report/json.h"

namespace scanloom::report {

/// Returns {"regions", "nodes", "values"}: those that are reachable from the top region. The "id"
/// of each is its number in the module.
Json graph(const ir::Module& module);

}  // namespace scanloom::report
