#include <vector>

#include "ir/op_def.h"
#include "ir/verify_rules.h"
#include "ir/walk.h"

namespace scanloom::ir::rules {
namespace {

/// Walks everything reachable from the top region and records its owner.
class Structure {
 public:
  explicit Structure(const Module& module)
      : module_(module),
        region_seen_(module.region_count()),
        node_seen_(module.node_count()),
        value_seen_(module.value_count()) {}

  Expected<void> check() {
    if (module_.region_count() == 0) return broken("the module has no region");
    SCANLOOM_CHECK_OK(claim_region(module_.top(), NodeId()));
    while (!pending_.empty()) {
      const RegionId region = pending_.back();
      pending_.pop_back();
      SCANLOOM_CHECK_OK(check_region(region));
    }
    return {};
  }

 private:
  Expected<void> claim_region(RegionId id, NodeId owner) {
    if (id.index >= module_.region_count())
      return broken("{}: region {} of {} does not exist", owner_text(owner), id.index,
                    module_.region_count());
    if (region_seen_[id.index])
      return broken("{}: region {} belongs to two nodes", owner_text(owner), id.index);
    if (module_.region(id).owner != owner)
      return broken("{}: region {} names another node as its owner", owner_text(owner), id.index);
    region_seen_[id.index] = true;
    pending_.push_back(id);
    return {};
  }

  Expected<void> check_region(RegionId id) {
    const Region& region = module_.region(id);
    for (std::size_t i = 0; i < region.args.size(); ++i)
      SCANLOOM_CHECK_OK(claim_argument(id, region.args[i], i));
    for (const NodeId node : region.nodes) SCANLOOM_CHECK_OK(claim_node(node, id));
    for (std::size_t i = 0; i < region.yields.size(); ++i)
      if (region.yields[i].index >= module_.value_count())
        return broken("{}: yield {} does not exist", region_text(id), i);
    return {};
  }

  Expected<void> claim_argument(RegionId region, ValueId id, std::size_t index) {
    if (id.index >= module_.value_count())
      return broken("{}: argument {} does not exist", region_text(region), index);
    const Value& value = module_.value(id);
    if (value_seen_[id.index])
      return broken("{}: argument {} appears in two places", region_text(region), index);
    if (value.producer.valid() || value.region != region || value.index != index)
      return broken("{}: argument {} does not name its location", region_text(region), index);
    value_seen_[id.index] = true;
    if (const char* fault = fault_of(value.type, module_.dims))
      return broken("{}: argument {} has {}", region_text(region), index, fault);
    return {};
  }

  Expected<void> claim_node(NodeId id, RegionId region) {
    if (id.index >= module_.node_count())
      return broken("{}: node {} of {} does not exist", region_text(region), id.index,
                    module_.node_count());
    if (node_seen_[id.index]) return broken("{}: appears in two places", module_.describe(id));
    node_seen_[id.index] = true;
    const Node& node = module_.node(id);
    if (node.op == nullptr) return broken("node {} has no operator", id.index);
    if (node.location.valid() && node.location.index >= module_.location_count())
      return broken("{}: location {} does not exist", module_.describe(id), node.location.index);
    if (node.parent != region)
      return broken("{}: names another region as its parent", module_.describe(id));
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid() && node.inputs[i].index >= module_.value_count())
        return broken("{}: operand {} does not exist", module_.describe(id), i);
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      SCANLOOM_CHECK_OK(claim_result(id, node.outputs[i], i));
    for (const RegionId inner : node.regions) SCANLOOM_CHECK_OK(claim_region(inner, id));
    return {};
  }

  Expected<void> claim_result(NodeId node, ValueId id, std::size_t index) {
    if (id.index >= module_.value_count())
      return broken("{}: result {} does not exist", module_.describe(node), index);
    const Value& value = module_.value(id);
    if (value_seen_[id.index])
      return broken("{}: result {} appears in two places", module_.describe(node), index);
    if (value.producer != node || value.index != index)
      return broken("{}: result {} does not name its location", module_.describe(node), index);
    value_seen_[id.index] = true;
    if (const char* fault = fault_of(value.type, module_.dims))
      return broken("{}: result {} has {}", module_.describe(node), index, fault);
    return {};
  }

  std::string owner_text(NodeId owner) const {
    return owner.valid() ? module_.describe(owner) : "the module";
  }
  std::string region_text(RegionId region) const {
    const NodeId owner = module_.region(region).owner;
    return owner.valid() ? "a body of " + module_.describe(owner) : "the graph";
  }

  const Module& module_;
  std::vector<bool> region_seen_, node_seen_, value_seen_;
  std::vector<RegionId> pending_;
};

/// Checks that values are defined before they are read, in the order of the nodes.
class Order {
 public:
  explicit Order(const Module& module) : module_(module), made_in_(module.value_count()) {}

  Expected<void> check(RegionId id) {
    const Region& region = module_.region(id);
    for (const ValueId arg : region.args) made_in_[arg.index] = id;
    for (const NodeId node : region.nodes) {
      const std::vector<ValueId>& inputs = module_.node(node).inputs;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i].valid() && made_in_[inputs[i].index] != id)
          return unreadable(inputs[i], id,
                            fmt::format("{}: operand {}", module_.describe(node), i));
      for (const ValueId output : module_.node(node).outputs) made_in_[output.index] = id;
    }
    for (std::size_t i = 0; i < region.yields.size(); ++i)
      if (made_in_[region.yields[i].index] != id)
        return unreadable(region.yields[i], id, fmt::format("yield {}", i));
    return {};
  }

 private:
  Error unreadable(ValueId id, RegionId reader, const std::string& who) const {
    const Value& value = module_.value(id);
    const bool result = value.producer.index < module_.node_count();
    const RegionId home = result ? module_.node(value.producer).parent : value.region;
    return home == reader
               ? broken("{} ({}) is read before it is defined", who, module_.describe(id))
               : broken("{} ({}) belongs to another region", who, module_.describe(id));
  }

  const Module& module_;
  std::vector<RegionId> made_in_;
};

}  // namespace

Expected<void> check_structure(const Module& module) { return Structure(module).check(); }

Expected<void> check_order(const Module& module) {
  Order order(module);
  for (const RegionId region : regions_outer_first(module, module.top()))
    SCANLOOM_CHECK_OK(order.check(region));
  return {};
}

}  // namespace scanloom::ir::rules
