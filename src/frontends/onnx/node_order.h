// The order in which the nodes of a graph are read. The written order is kept if every value is
// produced before it is used; otherwise nodes are sorted, moving as few as possible.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/graph_facts.h"

namespace scanloom::onnx {

struct NodeOrder {
  std::vector<std::uint32_t> nodes;  ///< excludes nodes that depend on a cycle
  std::vector<std::uint32_t> cycle;  ///< the nodes of one cycle in data-flow order; or none
};

/// Names per node of a graph.
using NodeNames =
    std::unordered_map<std::uint32_t, std::vector<NameId>>;  // looked up, never iterated

/// `captures` overrides the captures in `facts` for the nodes it lists.
NodeOrder order_nodes(const GraphFacts& facts, const NodeNames& captures = {});

}  // namespace scanloom::onnx
