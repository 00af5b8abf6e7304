// Loops of one region that take equally many steps and do not depend on each other become one: what
// they share is read once per step, and the steps are counted once. It stands behind merge_common,
// which makes equal numbers of steps one value, and before drop_dead_code; simplify_ports unites
// the ports that are equal then.
//
// Which two do not depend on each other is told by levels: a node's is that of its operands, a
// loop's one more, so that loops of one level cannot lead to each other. Loops join only where
// their bodies become machine code in the same way (plan/compiled.cpp: one element program over
// equal lanes; plan/bind_body.cpp: anything else that is not too large), or else one would slow
// down the other.
#include <algorithm>
#include <compare>
#include <map>

#include "ir/scan_window.h"
#include "ops/ops.h"
#include "passes/loop_facts.h"
#include "passes/rewriter.h"

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

constexpr std::size_t kMaxNodes = 128;
constexpr std::int64_t kMaxBytes = 256 * 1024;
// The stacked rows of both are in memory at once then.
constexpr std::int64_t kMaxStackedBytes = std::int64_t{64} << 20;
// With so many loops of the same kind each one is compared; this bounds what a model can cost.
constexpr std::size_t kMaxCompared = 8;

/// Loops with equal keys may become one.
struct Key {
  std::uint32_t level = 0;
  bool fixed_sizes = false;
  std::optional<Dim> steps;  ///< surely that many, or the loop fails
  ValueId trip_count;        ///< where that is not known: the value that says it
  std::optional<Dim> lanes;  ///< of bodies that are one element program
  friend auto operator<=>(const Key&, const Key&) = default;
};

/// How many slices there are, whatever the sizes.
std::optional<Dim> slices_of(const Module& module, const Node& loop, std::size_t scanned) {
  const ir::ScannedPort& port = loop.loop->scanned[scanned];
  const Type& type = module.value(loop.inputs[loop.loop->first_scanned_input() + scanned]).type;
  if (!type.ranked || port.axis >= type.rank()) return std::nullopt;
  return slice_count(port, type.dims[static_cast<std::size_t>(port.axis)]);
}

/// The slices of all scanned values, where they surely are equally many.
std::optional<Dim> common_slices(const Module& module, const Node& loop) {
  std::optional<Dim> common;
  for (std::size_t i = 0; i < loop.loop->scanned.size(); ++i) {
    const auto slices = slices_of(module, loop, i);
    if (!slices || (common && *common != *slices)) return std::nullopt;
    common = slices;
  }
  return common;
}

/// Sets the key's steps or its trip count; whether either is known well enough. A trip count that
/// may be too large to be one leaves it to the slices.
bool count_steps(const Module& module, const Node& loop, Key& key) {
  const bool scans = !loop.loop->scanned.empty();
  if (loop.loop->has_trip_count) {
    const ValueId count = loop.inputs[0];
    if (const auto known = known_trip_count(module, loop)) {
      key.steps = Dim(*known);
      return true;
    }
    if (constant_of(module, count) != nullptr) return false;
    const Node* size = made_by(module, count, ops::dim_op);
    if (size != nullptr && module.value(size->inputs[0]).type.ranked) {
      const Type& type = module.value(size->inputs[0]).type;
      const auto axis = tensor::normalise_axis(size->attrs[0].integer(), type.rank());
      if (axis) key.steps = type.dims[static_cast<std::size_t>(*axis)];
      return axis.has_value();
    }
    key.trip_count = count;
  }
  if (scans) key.steps = common_slices(module, loop);
  return scans ? key.steps.has_value() : key.trip_count.valid();
}

Dim elements_of(Module& module, const Type& type) {
  Dim elements = 1;
  for (const Dim size : type.dims) elements = module.dims.mul(elements, size);
  return elements;
}

std::vector<ValueId> values_of(const Module& module, ir::RegionId body) {
  std::vector<ValueId> values = module.region(body).args;
  for (const NodeId id : module.region(body).nodes)
    values.insert(values.end(), module.node(id).outputs.begin(), module.node(id).outputs.end());
  return values;
}

/// Whether every node computes element by element, or moves nothing.
bool is_pointwise(const Module& module, ir::RegionId body) {
  return std::ranges::all_of(module.region(body).nodes, [&](NodeId id) {
    const ir::OpDef* op = module.node(id).op;
    return op == &ir::constant_op || op->access == ir::Access::pointwise ||
           op->access == ir::Access::view;
  });
}

/// The elements of all values that have more than one, where they are equally many; nullopt: the
/// body is no element program.
std::optional<Dim> lanes_of(Module& module, ir::RegionId body) {
  if (!is_pointwise(module, body)) return std::nullopt;
  Dim lanes = 1;
  for (const ValueId value : values_of(module, body)) {
    const NodeId producer = module.value(value).producer;
    if (producer.valid() && module.node(producer).op == &ir::constant_op) continue;
    const Dim elements = elements_of(module, module.value(value).type);
    if (elements == Dim(1) || elements == lanes) continue;
    if (lanes != Dim(1)) return std::nullopt;
    lanes = elements;
  }
  return lanes;
}

/// At most `most`; symbolic sizes are taken as if they were 1.
std::int64_t capped_bytes(const Type& type, std::int64_t most) {
  auto bytes = static_cast<std::int64_t>(dtype_bytes(type.dtype));
  for (const Dim size : type.dims)
    if (size.is_constant()) bytes = std::min(bytes * std::min(size.value(), most), most);
  return bytes;
}

/// Of all values of the body.
std::int64_t bytes_of(const Module& module, ir::RegionId body) {
  std::int64_t bytes = 0;
  for (const ValueId id : values_of(module, body))
    bytes += capped_bytes(module.value(id).type, kMaxBytes);
  return bytes;
}

/// Of the stacked results.
std::int64_t stacked_bytes(const Module& module, const Node& loop) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < loop.loop->stacked.size(); ++i)
    bytes +=
        capped_bytes(module.value(loop.outputs[loop.loop->carried + i]).type, kMaxStackedBytes);
  return bytes;
}

/// One region.
class Merger {
 public:
  Merger(Module& module, ir::RegionId region, std::vector<std::uint32_t>& levels)
      : module_(module), region_(region), levels_(levels) {}

  Change run() {
    const std::vector<NodeId> nodes = module_.region(region_).nodes;
    for (const NodeId id : nodes) {
      set_level(id);
      if (module_.node(id).op == &ir::loop_op) visit(id);
    }
    if (change_.changed) restore_order();
    return change_;
  }

 private:
  void set_level(NodeId id) {
    std::uint32_t level = 0;
    for (const ValueId input : module_.node(id).inputs)
      if (input.valid() && module_.value(input).producer.valid())
        level = std::max(level, levels_[module_.value(input).producer.index]);
    levels_[id.index] = level + (module_.node(id).op == &ir::loop_op ? 1 : 0);
  }

  /// Merges the loop into one before it, or keeps it for those behind it.
  void visit(NodeId id) {
    const auto key = key_of(id);
    if (!key) return;
    std::vector<NodeId>& candidates = loops_[*key];
    for (const NodeId first : candidates)
      if (fit_together(first, id)) return absorb(first, id);
    if (candidates.size() < kMaxCompared) candidates.push_back(id);
  }

  std::optional<Key> key_of(NodeId id) {
    const Node& node = module_.node(id);
    if (node.loop->has_condition || node.loop->has_keep_going) return std::nullopt;
    const ir::RegionId body = node.regions[0];
    if (module_.region(body).nodes.size() > kMaxNodes) return std::nullopt;
    const auto has_sizes = [&](ValueId value) {
      const Type& type = module_.value(value).type;
      return type.is_tensor() && sizes_are_sure(module_, type);
    };
    if (!is_plain(module_, body, false) ||
        !std::ranges::all_of(values_of(module_, body), has_sizes))
      return std::nullopt;
    Key key{.level = levels_[id.index], .fixed_sizes = node.loop->fixed_sizes};
    if (!count_steps(module_, node, key)) return std::nullopt;
    key.lanes = lanes_of(module_, body);
    return key;
  }

  [[nodiscard]] bool fit_together(NodeId a, NodeId b) const {
    const ir::RegionId of_a = module_.node(a).regions[0], of_b = module_.node(b).regions[0];
    return module_.region(of_a).nodes.size() + module_.region(of_b).nodes.size() <= kMaxNodes &&
           bytes_of(module_, of_a) + bytes_of(module_, of_b) <= kMaxBytes &&
           stacked_bytes(module_, module_.node(a)) + stacked_bytes(module_, module_.node(b)) <=
               kMaxStackedBytes;
  }

  /// Puts all that the loop `from` has behind what `into` has of the same kind.
  void absorb(NodeId into, NodeId from) {
    Node& node = module_.node(into);
    Node other = std::exchange(module_.node(from), Node());
    Region& body = module_.region(node.regions[0]);
    Region other_body = std::exchange(module_.region(other.regions[0]), Region());
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
    append(body.yields, ports.first_stacked_yield(), other_body.yields,
           theirs.first_carried_yield(), theirs.carried);
    append(node.outputs, ports.output_count(), other.outputs, theirs.carried,
           theirs.stacked.size());
    append(node.outputs, ports.carried, other.outputs, 0, theirs.carried);
    ports.has_trip_count |= theirs.has_trip_count;
    ports.captured += theirs.captured;
    ports.carried += theirs.carried;
    ports.scanned.insert(ports.scanned.end(), theirs.scanned.begin(), theirs.scanned.end());
    ports.stacked.insert(ports.stacked.end(), theirs.stacked.begin(), theirs.stacked.end());
    body.nodes.insert(body.nodes.end(), other_body.nodes.begin(), other_body.nodes.end());
    own_everything(into);
    module_.node(into).place = module_.merge_places(node.place, other.place);
    absorbed_[from] = into;
    change_.changed = true;
  }

  static void append(std::vector<ValueId>& to, std::size_t at, const std::vector<ValueId>& from,
                     std::size_t first, std::size_t count) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    to.insert(to.begin() + static_cast<std::ptrdiff_t>(at), begin,
              begin + static_cast<std::ptrdiff_t>(count));
  }

  /// Values and nodes learn where they stand now.
  void own_everything(NodeId id) {
    const Node& node = module_.node(id);
    const ir::RegionId body = node.regions[0];
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      module_.value(node.outputs[i]).producer = id;
      module_.value(node.outputs[i]).index = static_cast<std::uint32_t>(i);
    }
    for (std::size_t i = 0; i < module_.region(body).args.size(); ++i) {
      ir::Value& arg = module_.value(module_.region(body).args[i]);
      arg.region = body;
      arg.index = static_cast<std::uint32_t>(i);
    }
    for (const NodeId inner : module_.region(body).nodes) {
      module_.node(inner).parent = body;
      for (const ValueId output : module_.node(inner).outputs) module_.value(output).region = body;
    }
  }

  /// Each node behind those that make its operands, otherwise as it was. Levels say that this is
  /// possible. No recursion: what a node waits for is on a stack.
  void restore_order() {
    std::vector<NodeId>& nodes = module_.region(region_).nodes;
    std::vector<NodeId> ordered;
    std::map<NodeId, bool> placed;
    for (const NodeId id : nodes) {
      if (absorbed_.contains(id)) continue;
      std::vector<NodeId> waiting{id};
      while (!waiting.empty()) {
        const NodeId next = waiting.back();
        if (!placed[next] && push_operands(next, placed, waiting)) continue;
        waiting.pop_back();
        if (!std::exchange(placed[next], true)) ordered.push_back(next);
      }
    }
    nodes = std::move(ordered);
  }

  /// Whether there were any that are not placed yet.
  bool push_operands(NodeId id, std::map<NodeId, bool>& placed, std::vector<NodeId>& waiting) {
    const std::size_t before = waiting.size();
    for (const ValueId input : module_.node(id).inputs) {
      const NodeId producer = input.valid() ? module_.value(input).producer : NodeId();
      if (producer.valid() && !placed[producer]) waiting.push_back(producer);
    }
    return waiting.size() > before;
  }

  Module& module_;
  const ir::RegionId region_;
  std::vector<std::uint32_t>& levels_;
  std::map<Key, std::vector<NodeId>> loops_;
  std::map<NodeId, NodeId> absorbed_;
  Change change_;
};

}  // namespace

Expected<Change> merge_loops(ir::Module& module) {
  Change change;
  std::vector<std::uint32_t> levels(module.node_count());
  for (const ir::RegionId region : regions_outer_first(module, module.top()))
    change |= Merger(module, region, levels).run();
  return change;
}

}  // namespace scanloom::passes
