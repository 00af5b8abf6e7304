#include "ir/walk.h"

#include <algorithm>
#include <unordered_map>

#include "base/assert.h"
#include "ir/clone_nodes.h"

namespace scanloom::ir {
namespace {

/// Copies nodes with everything inside them, in the order of the text form, so that a copy into an
/// empty module is numbered as it is printed. Source and target may be the same module.
class Cloner {
 public:
  Cloner(const Module& source, Module& target) : source_(source), target_(target) {}

  void map(ValueId from, ValueId to) { values_[from.index] = to; }
  [[nodiscard]] ValueId operator[](ValueId from) const {
    const auto found = values_.find(from.index);
    return found != values_.end() ? found->second : ValueId();
  }

  void copy_nodes(RegionId from, RegionId to) {
    frames_.push_back(WalkFrame{{}, {}, 0, from, to, 0});
    while (!frames_.empty()) step();
  }

  NodeId copy_node(NodeId from, RegionId to) {
    const NodeId made = begin_node(from, to);
    while (!frames_.empty()) step();
    return made;
  }

 private:
  /// A node whose regions are being copied; without an owner, just a list of nodes.
  struct WalkFrame {
    NodeId from_owner, to_owner;
    std::size_t next_region = 0;
    RegionId from, to;  ///< the open region, if any
    std::size_t next_node = 0;
  };

  void step() {
    WalkFrame& frame = frames_.back();
    if (!frame.from.valid()) return open_region(frame);
    if (frame.next_node < source_.region(frame.from).nodes.size()) {
      begin_node(source_.region(frame.from).nodes[frame.next_node++], frame.to);
      return;
    }
    if (frame.to_owner.valid()) {
      std::vector<ValueId> yields = mapped(source_.region(frame.from).yields);
      target_.region(frame.to).yields = std::move(yields);
    }
    frame.from = RegionId();
  }

  void open_region(WalkFrame& frame) {
    if (!frame.from_owner.valid() ||
        frame.next_region == source_.node(frame.from_owner).regions.size())
      return frames_.pop_back();
    frame.from = source_.node(frame.from_owner).regions[frame.next_region++];
    frame.next_node = 0;
    frame.to = target_.add_region(frame.to_owner, source_.region(frame.from).name);
    target_.node(frame.to_owner).regions.push_back(frame.to);
    const std::vector<ValueId> args = source_.region(frame.from).args;
    for (const ValueId arg : args) map(arg, copy_argument(arg, frame.to));
  }

  ValueId copy_argument(ValueId arg, RegionId to) {
    return target_.add_argument(to, source_.value(arg).type, source_.value(arg).name);
  }

  NodeId begin_node(NodeId from, RegionId to) {
    const Node node = source_.node(from);  // by value: adding a node may move the table
    std::vector<Type> types;
    for (const ValueId output : node.outputs) types.push_back(source_.value(output).type);
    const NodeId made = target_.add_node(to, *node.op, mapped(node.inputs), node.attrs,
                                         std::move(types), copy_location(node.location));
    target_.node(made).loop = node.loop;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = target_.node(made).outputs[i];
      target_.value(output).name = source_.value(node.outputs[i]).name;
      map(node.outputs[i], output);
    }
    if (!node.regions.empty()) frames_.push_back(WalkFrame{from, made, 0, {}, {}, 0});
    return made;
  }

  [[nodiscard]] std::vector<ValueId> mapped(const std::vector<ValueId>& ids) const {
    std::vector<ValueId> result;
    result.reserve(ids.size());
    for (const ValueId id : ids) result.push_back((*this)[id]);
    return result;
  }

  LocationId copy_location(LocationId location) {
    if (!location.valid() || &source_ == &target_) return location;
    if (locations_.empty()) locations_.resize(source_.location_count());
    LocationId& copy = locations_[location.index];
    if (!copy.valid()) copy = target_.add_location(source_.location(location));
    return copy;
  }

  const Module& source_;
  Module& target_;
  std::unordered_map<std::uint32_t, ValueId> values_;  // a table would cost its size per copy
  std::vector<LocationId> locations_;
  std::vector<WalkFrame> frames_;
};

/// Preorder of the regions below root; the children of each in program order, or backwards.
std::vector<RegionId> preorder(const Module& module, RegionId root, bool backwards) {
  std::vector<RegionId> order;
  std::vector<RegionId> pending{root};
  std::vector<RegionId> children;
  while (!pending.empty()) {
    const RegionId region = pending.back();
    pending.pop_back();
    order.push_back(region);
    children.clear();
    for (const NodeId node : module.region(region).nodes)
      children.insert(children.end(), module.node(node).regions.begin(),
                      module.node(node).regions.end());
    if (!backwards) std::reverse(children.begin(), children.end());
    pending.insert(pending.end(), children.begin(), children.end());
  }
  return order;
}

}  // namespace

std::vector<RegionId> regions_outer_first(const Module& module, RegionId root) {
  return preorder(module, root, false);
}

std::vector<RegionId> regions_inner_first(const Module& module, RegionId root) {
  std::vector<RegionId> order = preorder(module, root, true);
  std::reverse(order.begin(), order.end());
  return order;
}

void ValueMap::set(ValueId from, ValueId to) {
  SCANLOOM_ASSERT(from.valid() && from != to);
  if (from.index >= to_.size()) to_.resize(from.index + 1);
  to_[from.index] = to;
  ++count_;
}

ValueId ValueMap::operator[](ValueId id) const {
  while (id.index < to_.size() && to_[id.index].valid()) id = to_[id.index];
  return id;
}

void ValueMap::apply(std::vector<ValueId>& values) const {
  for (ValueId& value : values) value = (*this)[value];
}

void ValueMap::apply(Module& module) const {
  if (empty()) return;
  for (std::size_t i = 0; i < module.node_count(); ++i) apply(module.node(NodeId(i)).inputs);
  for (std::size_t i = 0; i < module.region_count(); ++i) apply(module.region(RegionId(i)).yields);
}

void move_node(Module& module, NodeId node, RegionId region) {
  module.node(node).parent = region;
  for (const ValueId output : module.node(node).outputs) module.value(output).region = region;
}

std::vector<std::uint32_t> count_uses(const Module& module) {
  std::vector<std::uint32_t> uses(module.value_count());
  const auto count = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids)
      if (id.valid()) ++uses[id.index];
  };
  for (const RegionId region : regions_outer_first(module, module.top())) {
    for (const NodeId node : module.region(region).nodes) count(module.node(node).inputs);
    count(module.region(region).yields);
  }
  return uses;
}

std::vector<ValueId> clone_region_into(Module& module, RegionId from, RegionId to,
                                       const std::vector<ValueId>& values) {
  Cloner cloner(module, module);
  const Region& region = module.region(from);
  SCANLOOM_ASSERT(values.size() == region.args.size());
  for (std::size_t i = 0; i < values.size(); ++i) cloner.map(region.args[i], values[i]);
  cloner.copy_nodes(from, to);
  std::vector<ValueId> results;
  for (const ValueId yield : module.region(from).yields) results.push_back(cloner[yield]);
  return results;
}

NodeId clone_node_into(const Module& from, NodeId node, Module& to, RegionId region,
                       const std::vector<ValueId>& inputs) {
  Cloner cloner(from, to);
  const std::vector<ValueId>& reads = from.node(node).inputs;
  SCANLOOM_ASSERT(inputs.size() == reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i)
    if (reads[i].valid()) cloner.map(reads[i], inputs[i]);
  return cloner.copy_node(node, region);
}

void clone_nodes_into(const Module& from, std::span<const NodeId> nodes, Module& to,
                      RegionId region, std::map<ValueId, ValueId>& values) {
  Cloner cloner(from, to);
  for (const auto& [outer, inner] : values) cloner.map(outer, inner);
  for (const NodeId node : nodes) {
    cloner.copy_node(node, region);
    for (const ValueId output : from.node(node).outputs) values[output] = cloner[output];
  }
}

Module compact(const Module& module) {
  Module result;
  result.dims = module.dims;
  result.choices = module.choices;
  result.output_names = module.output_names;
  result.declared_outputs = module.declared_outputs;
  result.states = module.states;
  result.name = module.name;
  const Region& top = module.region(module.top());
  result.region(result.top()).name = top.name;
  Cloner cloner(module, result);
  for (const ValueId arg : top.args)
    cloner.map(arg,
               result.add_argument(result.top(), module.value(arg).type, module.value(arg).name));
  cloner.copy_nodes(module.top(), result.top());
  for (const ValueId yield : top.yields)
    result.region(result.top()).yields.push_back(cloner[yield]);
  return result;
}

}  // namespace scanloom::ir
