#include "ir/nesting.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace scanloom::ir {

int nesting(const Module& module) {
  int deepest = 0;
  std::vector<std::pair<RegionId, int>> open{{module.top(), 0}};
  while (!open.empty()) {
    const auto [region, depth] = open.back();
    open.pop_back();
    deepest = std::max(deepest, depth);
    for (const NodeId node : module.region(region).nodes)
      for (const RegionId inner : module.node(node).regions) open.emplace_back(inner, depth + 1);
  }
  return deepest;
}

}  // namespace scanloom::ir
