#include "ir/last_uses.h"

#include <algorithm>

#include "ir/op_def.h"
#include "ir/walk.h"

namespace scanloom::ir {
namespace {

bool is_captured_by_loop(const Module& module, const Value& value) {
  if (value.producer.valid()) return false;
  const NodeId owner = module.region(value.region).owner;
  return owner.valid() && module.node(owner).loop &&
         value.index < module.node(owner).loop->captured;
}

}  // namespace

LastUses::LastUses(const Module& module)
    : operands_(module.node_count()), yields_(module.region_count()) {
  std::vector<bool> read(module.value_count());
  for (const RegionId region : regions_inner_first(module, module.top()))
    look_at(module, region, read);
}

void LastUses::look_at(const Module& module, RegionId id, std::vector<bool>& read) {
  const auto mark = [&](const std::vector<ValueId>& values, std::vector<bool>& last) {
    const bool any = std::ranges::any_of(values, [&](ValueId value) {
      return value.valid() && !module.value(value).type.is_tensor();
    });
    if (!any) return;
    last.resize(values.size());
    for (std::size_t i = values.size(); i-- > 0;) {
      if (!values[i].valid() || module.value(values[i]).type.is_tensor()) continue;
      last[i] = !read[values[i].index] && !is_captured_by_loop(module, module.value(values[i]));
      read[values[i].index] = true;
    }
  };
  const Region& region = module.region(id);
  mark(region.yields, yields_[id.index]);
  for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node)
    mark(module.node(*node).inputs, operands_[node->index]);
}

}  // namespace scanloom::ir
