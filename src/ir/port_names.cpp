#include "ir/port_names.h"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "base/one_line.h"

namespace scanloom::ir {
namespace {

/// The first name found, or empty.
std::string name_among(const Module& module, std::initializer_list<ValueId> values) {
  for (const ValueId id : values)
    if (id.valid() && !module.value(id).name.empty())
      return "'" + one_line(module.value(id).name) + "'";
  return {};
}

/// A loop that is still being read lacks some of its ports.
ValueId at(const std::vector<ValueId>& values, std::size_t i) {
  return i < values.size() ? values[i] : ValueId();
}

/// The name of the module's output that is this value; empty if there is none.
std::string output_name(const Module& module, ValueId id) {
  const std::vector<ValueId>& yields = module.region(module.top()).yields;
  const auto found = static_cast<std::size_t>(std::ranges::find(yields, id) - yields.begin());
  const std::vector<std::string>& names = module.output_names;
  return found < names.size() ? "'" + one_line(names[found]) + "'" : std::string();
}

}  // namespace

std::string describe_carried(const Module& module, NodeId loop, std::size_t i) {
  const Node& node = module.node(loop);
  const ValueId argument = at(module.region(node.regions[0]).args, node.loop->captured + i);
  const std::string name = name_among(module, {argument, at(node.outputs, i)});
  return name.empty() ? fmt::format("state {}", i) : "state " + name;
}

std::string describe_scanned(const Module& module, NodeId loop, std::size_t i) {
  const Node& node = module.node(loop);
  const LoopPorts& ports = *node.loop;
  const ValueId outer = at(node.inputs, ports.first_scanned_input() + i);
  const ValueId slice = at(module.region(node.regions[0]).args, ports.captured + ports.carried + i);
  const std::string name = name_among(module, {outer, slice});
  return name.empty() ? fmt::format("scanned value {}", i) : name;
}

std::string describe_stacked(const Module& module, NodeId loop, std::size_t i) {
  const Node& node = module.node(loop);
  const LoopPorts& ports = *node.loop;
  const ValueId result = at(node.outputs, ports.carried + i);
  const ValueId row = at(module.region(node.regions[0]).yields, ports.first_stacked_yield() + i);
  std::string name = name_among(module, {result});
  if (name.empty()) name = output_name(module, result);
  if (name.empty()) name = name_among(module, {row});
  return name.empty() ? fmt::format("stacked output {}", i) : "output " + name;
}

}  // namespace scanloom::ir
