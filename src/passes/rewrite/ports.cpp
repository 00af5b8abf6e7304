#include "passes/rewrite/ports.h"

#include <algorithm>

#include "ir/walk.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::NodeId;
using ir::ValueId;

/// Keeps the items of [first, first + kept.size()) that `kept` marks.
template <class T>
void keep_range(std::vector<T>& items, std::size_t first, const std::vector<bool>& kept) {
  std::size_t to = first;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) items[to++] = items[first + i];
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(to),
              items.begin() + static_cast<std::ptrdiff_t>(first + kept.size()));
}

void number(Module& module, const std::vector<ValueId>& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    module.value(values[i]).index = static_cast<std::uint32_t>(i);
}

std::uint32_t count(const std::vector<bool>& kept) {
  return static_cast<std::uint32_t>(std::ranges::count(kept, true));
}

}  // namespace

bool KeptPorts::all() const {
  for (const auto* kept : {&captured, &carried, &scanned, &stacked})
    if (std::ranges::find(*kept, false) != kept->end()) return false;
  return true;
}

// Each list is cut from its end, so that earlier positions stay valid.
void keep_ports(Module& module, NodeId loop, const KeptPorts& kept) {
  ir::Node& node = module.node(loop);
  LoopPorts& ports = *node.loop;
  ir::Region& body = module.region(node.regions[0]);
  keep_range(node.inputs, ports.first_scanned_input(), kept.scanned);
  keep_range(node.inputs, ports.first_carried_input(), kept.carried);
  keep_range(node.inputs, ports.first_captured_input(), kept.captured);
  keep_range(body.args, ports.captured + ports.carried, kept.scanned);
  keep_range(body.args, ports.captured, kept.carried);
  keep_range(body.args, 0, kept.captured);
  keep_range(body.yields, ports.first_stacked_yield(), kept.stacked);
  keep_range(body.yields, ports.first_carried_yield(), kept.carried);
  keep_range(node.outputs, ports.carried, kept.stacked);
  keep_range(node.outputs, 0, kept.carried);
  keep_range(ports.scanned, 0, kept.scanned);
  keep_range(ports.stacked, 0, kept.stacked);
  ports.captured = count(kept.captured);
  ports.carried = count(kept.carried);
  number(module, body.args);
  number(module, node.outputs);
}

void keep_branch_ports(Module& module, NodeId branch, const std::vector<bool>& captured,
                       const std::vector<bool>& results) {
  ir::Node& node = module.node(branch);
  keep_range(node.inputs, 1, captured);
  keep_range(node.outputs, 0, results);
  number(module, node.outputs);
  for (const ir::RegionId side : node.regions) {
    ir::Region& region = module.region(side);
    keep_range(region.args, 0, captured);
    keep_range(region.yields, 0, results);
    number(module, region.args);
  }
}

std::vector<ValueId> add_captured(Module& module, NodeId loop, std::span<const ValueId> outer) {
  const ir::RegionId body = module.node(loop).regions[0];
  std::vector<ValueId> added;
  for (const ValueId value : outer) {
    ir::Type type = module.value(value).type;
    std::string name = module.value(value).name;
    added.push_back(module.add_argument(body, std::move(type), std::move(name)));
  }
  ir::Node& node = module.node(loop);
  LoopPorts& ports = *node.loop;
  std::vector<ValueId>& args = module.region(body).args;
  std::rotate(args.begin() + ports.captured, args.end() - static_cast<std::ptrdiff_t>(added.size()),
              args.end());
  number(module, args);
  node.inputs.insert(node.inputs.begin() + ports.first_carried_input(), outer.begin(), outer.end());
  ports.captured += static_cast<std::uint32_t>(outer.size());
  return added;
}

// Scanned and stacked entries are last in each list.
std::vector<ValueId> add_scanned(Module& module, NodeId loop, std::span<const ValueId> outer,
                                 std::span<const ir::ScannedPort> ports) {
  const ir::RegionId body = module.node(loop).regions[0];
  std::vector<ValueId> added;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    ir::Type slice = module.value(outer[i]).type;
    slice.dims.erase(slice.dims.begin() + ports[i].axis);
    std::string name = module.value(outer[i]).name;
    added.push_back(module.add_argument(body, std::move(slice), std::move(name)));
  }
  ir::Node& node = module.node(loop);
  node.inputs.insert(node.inputs.end(), outer.begin(), outer.end());
  node.loop->scanned.insert(node.loop->scanned.end(), ports.begin(), ports.end());
  return added;
}

std::vector<ValueId> add_stacked(Module& module, NodeId loop, std::span<const ValueId> rows,
                                 std::span<const ir::StackedPort> ports,
                                 std::span<const ir::Type> types) {
  std::vector<ValueId> added;
  for (std::size_t i = 0; i < rows.size(); ++i)
    added.push_back(module.add_output(loop, types[i], module.value(rows[i]).name));
  std::vector<ValueId>& yields = module.region(module.node(loop).regions[0]).yields;
  yields.insert(yields.end(), rows.begin(), rows.end());
  std::vector<ir::StackedPort>& stacked = module.node(loop).loop->stacked;
  stacked.insert(stacked.end(), ports.begin(), ports.end());
  return added;
}

ValueId add_carried(Module& module, NodeId loop, ValueId initial, ValueId next) {
  const ir::RegionId body = module.node(loop).regions[0];
  ir::Type type = module.value(next).type;
  module.add_argument(body, type);
  const ValueId last = module.add_output(loop, std::move(type));
  ir::Node& node = module.node(loop);
  LoopPorts& ports = *node.loop;
  ir::Region& region = module.region(body);
  const auto put_last_at = [](std::vector<ValueId>& values, std::size_t at) {
    std::rotate(values.begin() + static_cast<std::ptrdiff_t>(at), values.end() - 1, values.end());
  };
  put_last_at(region.args, std::size_t{ports.captured} + ports.carried);
  put_last_at(node.outputs, ports.carried);
  node.inputs.insert(node.inputs.begin() + ports.first_scanned_input(), initial);
  region.yields.insert(region.yields.begin() + ports.first_stacked_yield(), next);
  ++ports.carried;
  number(module, region.args);
  number(module, node.outputs);
  return last;
}

std::vector<NodeId> nodes_with_regions(const Module& module, Order order) {
  std::vector<NodeId> nodes;
  for (const ir::RegionId region : regions_outer_first(module, module.top()))
    for (const NodeId node : module.region(region).nodes)
      if (!module.node(node).regions.empty()) nodes.push_back(node);
  if (order == Order::inner_first) std::ranges::reverse(nodes);
  return nodes;
}

}  // namespace scanloom::passes
