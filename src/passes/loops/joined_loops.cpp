#include "passes/loops/joined_loops.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/scan_window.h"
#include "ops/ops.h"
#include "passes/analysis/body_kinds.h"
#include "passes/analysis/loop_facts.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Region;
using ir::Type;
using ir::ValueId;

constexpr std::size_t kMaxJoinedNodes = 128;
constexpr std::int64_t kMaxBytes = 256 * 1024;

/// Returns the number of slices of all scanned values if it is known to be the same.
std::optional<Dim> common_slices(const Module& module, const Node& loop) {
  std::optional<Dim> common;
  for (std::size_t i = 0; i < loop.loop->scanned.size(); ++i) {
    const auto slices = slices_of(module, loop, i);
    if (!slices || (common && *common != *slices)) return std::nullopt;
    common = slices;
  }
  return common;
}

/// At most `most`; symbolic sizes count as 1.
std::int64_t capped_bytes(const Type& type, std::int64_t most) {
  auto bytes = static_cast<std::int64_t>(dtype_bytes(type.dtype));
  for (const Dim size : type.dims)
    if (size.is_constant()) bytes = std::min(bytes * std::min(size.value(), most), most);
  return bytes;
}

/// Returns the bytes of all values of the body.
std::int64_t bytes_of(const Module& module, ir::RegionId body) {
  std::int64_t bytes = 0;
  for (const ValueId id : values_of(module, body))
    bytes += capped_bytes(module.value(id).type, kMaxBytes);
  return bytes;
}

void append(std::vector<ValueId>& to, std::size_t at, const std::vector<ValueId>& from,
            std::size_t first, std::size_t count) {
  const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
  to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), begin,
            begin + static_cast<std::ptrdiff_t>(count));
}

/// Updates owners and positions of values and nodes.
void own_everything(Module& module, NodeId id) {
  const Node& node = module.node(id);
  const ir::RegionId body = node.regions[0];
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    module.value(node.outputs[i]).producer = id;
    module.value(node.outputs[i]).index = static_cast<std::uint32_t>(i);
  }
  for (std::size_t i = 0; i < module.region(body).args.size(); ++i) {
    ir::Value& arg = module.value(module.region(body).args[i]);
    arg.region = body;
    arg.index = static_cast<std::uint32_t>(i);
  }
  for (const NodeId inner : module.region(body).nodes) ir::move_node(module, inner, body);
}

/// Returns whether any operand is not placed yet.
bool push_operands(const Module& module, NodeId id, std::map<NodeId, bool>& placed,
                   std::vector<NodeId>& waiting) {
  const std::size_t before = waiting.size();
  for (const ValueId input : module.node(id).inputs) {
    const NodeId producer = input.valid() ? module.value(input).producer : NodeId();
    if (producer.valid() && !placed[producer]) waiting.push_back(producer);
  }
  return waiting.size() > before;
}

}  // namespace

std::optional<Dim> slices_of(const Module& module, const Node& loop, std::size_t scanned) {
  const ir::ScannedPort& port = loop.loop->scanned[scanned];
  const Type& type = module.value(loop.inputs[loop.loop->first_scanned_input() + scanned]).type;
  if (!type.ranked || port.axis >= type.rank()) return std::nullopt;
  return slice_count(port, type.dims[static_cast<std::size_t>(port.axis)]);
}

std::optional<StepCount> count_steps(const Module& module, const Node& loop) {
  const bool scans = !loop.loop->scanned.empty();
  StepCount count;
  if (loop.loop->has_trip_count) {
    const ValueId trip_count = loop.inputs[0];
    if (const auto known = known_trip_count(module, loop)) {
      count.steps = Dim(*known);
      return count;
    }
    if (constant_of(module, trip_count) != nullptr) return std::nullopt;
    const Node* size = made_by(module, trip_count, ops::dim_op);
    if (size != nullptr && module.value(size->inputs[0]).type.ranked) {
      const Type& type = module.value(size->inputs[0]).type;
      const auto axis = tensor::normalise_axis(size->attrs[0].integer(), type.rank());
      if (!axis) return std::nullopt;
      count.steps = type.dims[static_cast<std::size_t>(*axis)];
      return count;
    }
    count.trip_count = trip_count;
  }
  if (scans) count.steps = common_slices(module, loop);
  const bool known = scans ? count.steps.has_value() : count.trip_count.valid();
  return known ? std::optional(count) : std::nullopt;
}

bool can_be_joined(const Module& module, const Node& loop) {
  if (loop.loop->has_condition || loop.loop->has_keep_going) return false;
  const ir::RegionId body = loop.regions[0];
  if (module.region(body).nodes.size() > kMaxJoinedNodes) return false;
  const auto has_sizes = [&](ValueId value) {
    const Type& type = module.value(value).type;
    return type.is_tensor() && sizes_are_sure(module, type);
  };
  return is_plain(module, body, false) && std::ranges::all_of(values_of(module, body), has_sizes);
}

bool bodies_fit_together(const Module& module, NodeId a, NodeId b) {
  const ir::RegionId of_a = module.node(a).regions[0], of_b = module.node(b).regions[0];
  return module.region(of_a).nodes.size() + module.region(of_b).nodes.size() <= kMaxJoinedNodes &&
         bytes_of(module, of_a) + bytes_of(module, of_b) <= kMaxBytes;
}

std::int64_t stacked_bytes(const Module& module, ValueId stack) {
  return capped_bytes(module.value(stack).type, kMaxStackedBytes);
}

std::int64_t stacked_bytes(const Module& module, const Node& loop) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < loop.loop->stacked.size(); ++i)
    bytes += stacked_bytes(module, loop.outputs[loop.loop->carried + i]);
  return bytes;
}

void absorb(Module& module, NodeId into, NodeId from) {
  Node& node = module.node(into);
  Node other = std::exchange(module.node(from), Node());
  Region& body = module.region(node.regions[0]);
  Region other_body = std::exchange(module.region(other.regions[0]), Region());
  LoopPorts& ports = *node.loop;
  const LoopPorts& theirs = *other.loop;
  append(node.inputs, ports.first_scanned_input() + ports.scanned.size(), other.inputs,
         theirs.first_scanned_input(), theirs.scanned.size());
  append(node.inputs, ports.first_scanned_input(), other.inputs, theirs.first_carried_input(),
         theirs.carried);
  append(node.inputs, ports.first_carried_input(), other.inputs, theirs.first_captured_input(),
         theirs.captured);
  if (!ports.has_trip_count && theirs.has_trip_count) append(node.inputs, 0, other.inputs, 0, 1);
  append(body.args, ports.argument_count(), other_body.args, theirs.captured + theirs.carried,
         theirs.scanned.size());
  append(body.args, ports.captured + ports.carried, other_body.args, theirs.captured,
         theirs.carried);
  append(body.args, ports.captured, other_body.args, 0, theirs.captured);
  append(body.yields, ports.yield_count(), other_body.yields, theirs.first_stacked_yield(),
         theirs.stacked.size());
  append(body.yields, ports.first_stacked_yield(), other_body.yields, theirs.first_carried_yield(),
         theirs.carried);
  append(node.outputs, ports.output_count(), other.outputs, theirs.carried, theirs.stacked.size());
  append(node.outputs, ports.carried, other.outputs, 0, theirs.carried);
  ports.has_trip_count |= theirs.has_trip_count;
  ports.over_items = ports.over_items && theirs.over_items;
  ports.reassociates = ports.reassociates && theirs.reassociates;
  ports.captured += theirs.captured;
  ports.carried += theirs.carried;
  ports.scanned.insert(ports.scanned.end(), theirs.scanned.begin(), theirs.scanned.end());
  ports.stacked.insert(ports.stacked.end(), theirs.stacked.begin(), theirs.stacked.end());
  body.nodes.insert(body.nodes.end(), other_body.nodes.begin(), other_body.nodes.end());
  own_everything(module, into);
  module.node(into).location = module.merge_locations(node.location, other.location);
}

// Not recursive: pending nodes are on a stack.
void restore_order(Module& module, ir::RegionId region) {
  std::vector<NodeId>& nodes = module.region(region).nodes;
  std::vector<NodeId> ordered;
  std::map<NodeId, bool> placed;
  for (const NodeId id : nodes) {
    if (module.node(id).op == nullptr) continue;
    std::vector<NodeId> waiting{id};
    while (!waiting.empty()) {
      const NodeId next = waiting.back();
      if (!placed[next] && push_operands(module, next, placed, waiting)) continue;
      waiting.pop_back();
      if (!std::exchange(placed[next], true)) ordered.push_back(next);
    }
  }
  nodes = std::move(ordered);
}

}  // namespace scanloom::passes
