// Copies nodes from one module to another (implemented with the other copies, in walk.cpp).
#pragma once

#include <map>
#include <span>

#include "ir/module.h"

namespace scanloom::ir {

/// Copies nodes of one region, in its order and with their regions, to the end of a region of
/// another module. `values` gives what stands for the values of other nodes and for arguments;
/// results are added to it. The size table of `to` must include that of `from`.
void clone_nodes_into(const Module& from, std::span<const NodeId> nodes, Module& to,
                      RegionId region, std::map<ValueId, ValueId>& values);

}  // namespace scanloom::ir
