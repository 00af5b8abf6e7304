// The order in which the nodes of a graph are read: as written where every value is made before it
// is used, otherwise sorted, moving as little as possible.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frontends/onnx/graph_facts.h"

namespace scanloom::onnx {

struct NodeOrder {
  std::vector<std::uint32_t> nodes;  ///< without those that wait for a cycle
  std::vector<std::uint32_t> cycle;  ///< the nodes of one cycle, in the order of the data; or none
};

/// Names by node of a graph.
using NodeNames =
    std::unordered_map<std::uint32_t, std::vector<NameId>>;  // looked up, never walked

/// `captures` holds what bodies of a node read from outside where that is not what the facts say.
NodeOrder order_nodes(const GraphFacts& facts, const NodeNames& captures = {});

}  // namespace scanloom::onnx
