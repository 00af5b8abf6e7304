#include "loopnest/part.h"

#include <algorithm>

namespace scanloom::loopnest {

Part part_of(Nest nest, std::vector<OriginId> origins) {
  Part part;
  part.origins = std::move(origins);
  for (const Access& read : nest.reads) part.reads.push_back(use_of(read, nest.sizes));
  for (const Access& write : nest.writes) part.writes.push_back(use_of(write, nest.sizes));
  if (nest.writes_by_index()) part.reads.push_back(part.writes[0]);
  for_indices(nest,
              [&](const DynamicIndex& index) { part.reads.push_back(use_of(index, nest.sizes)); });
  for (const Reduction& reduction : nest.reductions) {
    const std::vector<std::int64_t> sizes = axes_of(nest, reduction);
    for (const Access& read : reduction.reads) part.reads.push_back(use_of(read, sizes));
  }
  part.statement.nest = std::move(nest);
  return part;
}

std::vector<OriginId> origins_of(const Part& a, const Part& b) {
  std::vector<OriginId> origins = a.origins;
  for (const OriginId origin : b.origins)
    if (std::ranges::find(origins, origin) == origins.end()) origins.push_back(origin);
  return origins;
}

bool independent(const Part& a, const Part& b) {
  return !overlap(a.reads, b.writes) && !overlap(a.writes, b.reads) && !overlap(a.writes, b.writes);
}

}  // namespace scanloom::loopnest
