#include "passes/rewrite/rewriter.h"

#include <utility>

namespace scanloom::passes {

Expected<Change> Rewriter::sweep(const Rule& rule) {
  Change change;
  for (const ir::RegionId region : regions_outer_first(module_, module_.top())) {
    SCANLOOM_TRY(const Change here, sweep_region(region, rule));
    change |= here;
  }
  return change;
}

// The region's list is rebuilt, so that what a rule appends comes before the nodes that follow.
Expected<Change> Rewriter::sweep_region(ir::RegionId id, const Rule& rule) {
  Change change;
  ir::Builder builder(module_, id);
  builder_ = &builder;
  const std::vector<ir::NodeId> nodes = std::move(module_.region(id).nodes);
  module_.region(id).nodes.clear();
  std::optional<Error> error;
  for (const ir::NodeId node : nodes) {
    map_.apply(module_.node(node).inputs);
    builder.set_location(module_.node(node).location);
    bool replaced = false;
    if (!error) {
      auto result = rule(*this, node);
      if (result) {
        replaced = *result;
      } else {
        error = std::move(result).error();
      }
    }
    change.changed |= replaced;
    if (!replaced) module_.region(id).nodes.push_back(node);
  }
  map_.apply(module_.region(id).yields);
  if (error) return *std::move(error);
  return change;
}

std::vector<ir::NamedAttr> attrs_of(const ir::Node& node) {
  std::vector<ir::NamedAttr> named;
  for (std::size_t i = 0; i < node.attrs.size(); ++i)
    if (node.attrs[i].present()) named.push_back({node.op->attrs[i].name, node.attrs[i]});
  return named;
}

Expected<Change> sweep_reached(ir::Module& module,
                               const std::function<Expected<Change>(ir::RegionId)>& sweep) {
  Change change;
  std::vector<ir::RegionId> pending{module.top()};
  while (!pending.empty()) {
    const ir::RegionId region = pending.back();
    pending.pop_back();
    SCANLOOM_TRY(const Change here, sweep(region));
    change |= here;
    for (const ir::NodeId node : module.region(region).nodes)
      pending.insert(pending.end(), module.node(node).regions.begin(),
                     module.node(node).regions.end());
  }
  return change;
}

Change sweep_loops(ir::Module& module,
                   const std::function<Change(ir::NodeId loop, ir::ValueMap& map)>& visit) {
  Change change;
  ir::ValueMap map(module);
  for (const ir::RegionId region : regions_inner_first(module, module.top())) {
    const std::vector<ir::NodeId> nodes = std::exchange(module.region(region).nodes, {});
    for (const ir::NodeId id : nodes) {
      map.apply(module.node(id).inputs);
      module.region(region).nodes.push_back(id);
      if (module.node(id).op == &ir::loop_op) change |= visit(id, map);
    }
    map.apply(module.region(region).yields);
  }
  return change;
}

const ir::Node* made_by(const ir::Module& module, ir::ValueId value, const ir::OpDef& op) {
  if (!value.valid() || !module.value(value).producer.valid()) return nullptr;
  const ir::Node& node = module.node(module.value(value).producer);
  return node.op == &op ? &node : nullptr;
}

}  // namespace scanloom::passes
