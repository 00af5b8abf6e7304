// The order in which the nodes of a graph are read: as written where every value is made before it
// is used, otherwise sorted, moving as little as possible.
#pragma once

#include <cstdint>
#include <vector>

#include "frontends/onnx/graph_facts.h"

namespace scanloom::onnx {

struct NodeOrder {
  std::vector<std::uint32_t> nodes;  ///< without those that wait for a cycle
  std::vector<std::uint32_t> cycle;  ///< the nodes of one cycle, in the order of the data; or none
};

NodeOrder order_nodes(const GraphFacts& facts);

}  // namespace scanloom::onnx
