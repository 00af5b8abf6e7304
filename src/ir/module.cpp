#include "ir/module.h"

#include <algorithm>

#include "base/assert.h"
#include "base/one_line.h"
#include "ir/op_def.h"
#include "ir/text.h"

namespace scanloom::ir {

Module::Module() { add_region(NodeId{}); }

RegionId Module::add_region(NodeId owner, std::string region_name) {
  const RegionId id(regions_.size());
  Region& added = regions_.emplace_back();
  added.owner = owner;
  added.name = std::move(region_name);
  return id;
}

ValueId Module::add_argument(RegionId owner, Type type, std::string value_name) {
  const ValueId id(values_.size());
  Value& added = values_.emplace_back();
  added.type = std::move(type);
  added.region = owner;
  added.index = static_cast<std::uint32_t>(region(owner).args.size());
  added.name = std::move(value_name);
  region(owner).args.push_back(id);
  return id;
}

void Module::keep_arguments(RegionId region_id, const std::vector<bool>& kept) {
  std::vector<ValueId>& args = region(region_id).args;
  std::size_t count = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    value(args[i]).index = static_cast<std::uint32_t>(count);
    args[count++] = args[i];
  }
  args.resize(count);
}

NodeId Module::add_node(RegionId parent, const OpDef& op, std::vector<ValueId> inputs,
                        std::vector<Attr> attrs, std::vector<Type> output_types,
                        LocationId location) {
  const NodeId id(nodes_.size());
  Node& added = nodes_.emplace_back();
  added.op = &op;
  added.inputs = std::move(inputs);
  added.attrs = std::move(attrs);
  added.parent = parent;
  added.location = location;
  for (Type& type : output_types) add_output(id, std::move(type));
  region(parent).nodes.push_back(id);
  return id;
}

ValueId Module::add_output(NodeId producer, Type type, std::string value_name) {
  const ValueId id(values_.size());
  Value& added = values_.emplace_back();
  added.type = std::move(type);
  added.producer = producer;
  added.region = node(producer).parent;
  added.index = static_cast<std::uint32_t>(node(producer).outputs.size());
  added.name = std::move(value_name);
  node(producer).outputs.push_back(id);
  return id;
}

LocationId Module::add_location(Location added) {
  const LocationId id(locations_.size());
  locations_.push_back(std::move(added));
  return id;
}

LocationId Module::merge_locations(LocationId a, LocationId b) {
  if (!a.valid() || a == b) return b;
  if (!b.valid()) return a;
  Location merged = location(a);
  for (const std::string& name_of_b : location(b).nodes)
    if (std::ranges::find(merged.nodes, name_of_b) == merged.nodes.end())
      merged.nodes.push_back(name_of_b);
  if (merged == location(a)) return a;
  if (merged == location(b)) return b;
  return add_location(std::move(merged));
}

std::string Module::describe(NodeId id) const {
  const Node& described = node(id);
  if (described.location.valid() && described.location.index < locations_.size()) {
    std::string text;
    for (const std::string& user_node : location(described.location).nodes)
      text += (text.empty() ? "" : " + ") + user_node;
    if (!text.empty()) return one_line(text);
  }
  return text::described_node(described.op == nullptr ? "broken" : described.op->name);
}

std::string Module::describe_call(NodeId id) const {
  const Node& called = node(id);
  if (called.location.valid() || called.op == nullptr || called.op->access != Access::pointwise)
    return describe(id);
  std::string text;
  for (const ValueId input : called.inputs)
    if (input.valid()) text += (text.empty() ? " of " : " and ") + describe_result(input);
  return std::string(called.op->name) + text;
}

std::string Module::describe_step(NodeId id, std::int64_t step) const {
  const auto& loop = node(id).loop;
  const bool is_item = loop && loop->over_items;
  return fmt::format("in {} {} of {}", is_item ? "item" : "step", step, describe(id));
}

std::string Module::describe(ValueId id) const {
  if (id.valid() && id.index < values_.size() && !value(id).name.empty())
    return "'" + one_line(value(id).name) + "'";
  std::string text = "%" + (id.valid() ? std::to_string(id.index) : std::string("none"));
  // Value numbers are internal; the reader of a message knows the nodes.
  if (!id.valid() || id.index >= values_.size()) return text;
  const NodeId producer = value(id).producer;
  if (producer.valid() && producer.index < nodes_.size() && node(producer).location.valid())
    text += " of " + describe(producer);
  return text;
}

std::string Module::describe_result(ValueId id) const {
  std::string part;
  for (;;) {
    if (!value(id).name.empty()) return part + "'" + one_line(value(id).name) + "'";
    const NodeId producer = value(id).producer;
    if (!producer.valid()) {
      const NodeId owner = region(value(id).region).owner;
      if (!owner.valid() || !node(owner).loop) return "an argument";
      // The value outside the loop: the captured value, or the initial state.
      id = node(owner).inputs[node(owner).loop->first_captured_input() + value(id).index];
      if (!id.valid()) return "an argument";
      continue;
    }
    const Node& made_by = node(producer);
    if (made_by.op == &constant_op) return "a constant";
    // Operators that only move elements are less informative than the producer of the elements.
    const bool is_move = made_by.op->access == Access::view && made_by.inputs[0].valid();
    if (made_by.location.valid() || !is_move) {
      const std::string words =
          made_by.location.valid() ? describe(producer) : std::string(made_by.op->name);
      return part + (words.starts_with("an ") ? "" : "the result of ") + words;
    }
    if (made_by.op->name == "slice") part = "a part of ";
    id = made_by.inputs[0];
  }
}

}  // namespace scanloom::ir
