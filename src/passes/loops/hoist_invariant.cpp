// Hoists work that depends only on captured values and constants: it is done once, before the loop,
// and its results are captured. Views cost nothing and stay; those that hoisted work reads are
// copied along. Work that may fail stays, since the loop may take no step: because of its operator,
// or because only data decides its sizes, which may turn out impossible. It runs after merging, so
// that equal work moves once.
#include <algorithm>
#include <map>

#include "ir/constants.h"
#include "ir/op_def.h"
#include "passes/analysis/loop_facts.h"
#include "passes/pass.h"
#include "passes/rewrite/ports.h"

namespace scanloom::passes {
namespace {

using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// What happens to a node of the body.
enum class HoistFate : std::uint8_t {
  stays,
  invariant,  ///< could move, but need not: a view or a constant that no moved node reads
  copied,     ///< a view or a constant that a moved node reads
  moves,
};

/// Values and their replacements. For one body only: a table of all values would cost its size per
/// loop.
using Substitution = std::map<ValueId, ValueId>;

ValueId substituted(const Substitution& map, ValueId id) {
  const auto found = map.find(id);
  return found != map.end() ? found->second : id;
}

class Hoister {
 public:
  Hoister(Module& module, NodeId loop, std::vector<HoistFate>& fates)
      : module_(module), loop_(loop), body_(module.node(loop).regions[0]), fates_(fates) {}

  Change run() {
    if (!find_work()) return {};
    mark_operands();
    const std::vector<ValueId> outer = move_before_loop();
    capture(outer);
    return {.changed = true};
  }

 private:
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return module_.region(body_).nodes; }
  [[nodiscard]] HoistFate& fate(NodeId id) { return fates_[id.index]; }

  [[nodiscard]] bool is_invariant(ValueId id) {
    if (!id.valid()) return true;
    const ir::Value& value = module_.value(id);
    if (!value.producer.valid()) return value.index < module_.node(loop_).loop->captured;
    return fate(value.producer) != HoistFate::stays;
  }

  /// Whether the sizes of all results follow from those of the operands.
  [[nodiscard]] bool sizes_follow(const Node& node) const {
    const auto given = [&](ir::Dim dim) {
      return std::ranges::any_of(node.inputs, [&](ValueId input) {
        if (!input.valid()) return false;
        const std::vector<ir::Dim>& dims = module_.value(input).type.dims;
        return std::ranges::find(dims, dim) != dims.end();
      });
    };
    return std::ranges::all_of(node.outputs, [&](ValueId output) {
      const ir::Type& type = module_.value(output).type;
      return type.ranked && std::ranges::all_of(type.dims, [&](ir::Dim dim) {
               return dim.is_constant() || given(dim) ||
                      module_.dims.node(dim.expr()).kind != tensor::DimKind::fresh;
             });
    });
  }

  /// Sets each node's fate. Returns whether there is anything to move.
  bool find_work() {
    bool any = false;
    const bool may_skip = !surely_steps(module_, module_.node(loop_));
    for (const NodeId id : nodes()) {
      const Node& node = module_.node(id);
      const bool pure = node.op->effects == ir::Effects::pure && node.regions.empty() &&
                        (!may_skip || sizes_follow(node));
      const bool all = pure && std::ranges::all_of(
                                   node.inputs, [&](ValueId input) { return is_invariant(input); });
      const bool free = node.op == &ir::constant_op || node.op->access == ir::Access::view;
      fate(id) = !all ? HoistFate::stays : free ? HoistFate::invariant : HoistFate::moves;
      any |= fate(id) == HoistFate::moves;
    }
    return any;
  }

  void mark_operands() {
    const std::vector<NodeId>& body = nodes();
    for (auto id = body.rbegin(); id != body.rend(); ++id) {
      if (fate(*id) != HoistFate::moves && fate(*id) != HoistFate::copied) continue;
      for (const ValueId input : module_.node(*id).inputs) {
        const NodeId producer = input.valid() ? module_.value(input).producer : NodeId();
        if (producer.valid() && fate(producer) == HoistFate::invariant)
          fate(producer) = HoistFate::copied;
      }
    }
  }

  /// Copies to the outer region, in order, the nodes that move and what they read. Returns the
  /// outer counterpart of each result of a moved node, in the order of the nodes.
  std::vector<ValueId> move_before_loop() {
    const ir::RegionId parent = module_.node(loop_).parent;
    const std::size_t before = module_.region(parent).nodes.size();
    Substitution outside;
    for (std::size_t i = 0; i < module_.node(loop_).loop->captured; ++i)
      outside[module_.region(body_).args[i]] =
          module_.node(loop_).inputs[module_.node(loop_).loop->first_captured_input() + i];
    std::vector<ValueId> results;
    for (const NodeId id : nodes()) {
      if (fate(id) != HoistFate::moves && fate(id) != HoistFate::copied) continue;
      const Node node = module_.node(id);  // by value: adding nodes may move it
      std::vector<ValueId> inputs = node.inputs;
      for (ValueId& input : inputs) input = substituted(outside, input);
      std::vector<ir::Type> types;
      for (const ValueId output : node.outputs) types.push_back(module_.value(output).type);
      const NodeId copy = module_.add_node(parent, *node.op, std::move(inputs), node.attrs,
                                           std::move(types), node.location);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId made = module_.node(copy).outputs[i];
        module_.value(made).name = module_.value(node.outputs[i]).name;
        outside[node.outputs[i]] = made;
        if (fate(id) == HoistFate::moves) results.push_back(made);
      }
    }
    std::vector<NodeId>& list = module_.region(parent).nodes;
    std::rotate(std::ranges::find(list, loop_), list.begin() + static_cast<std::ptrdiff_t>(before),
                list.end());
    return results;
  }

  /// Captures the results that the rest of the body reads, and removes the nodes that made them.
  void capture(const std::vector<ValueId>& outer) {
    std::vector<ValueId> inner;
    for (const NodeId id : nodes())
      if (fate(id) == HoistFate::moves)
        inner.insert(inner.end(), module_.node(id).outputs.begin(), module_.node(id).outputs.end());
    std::erase_if(module_.region(body_).nodes,
                  [&](NodeId id) { return fate(id) == HoistFate::moves; });
    const std::vector<bool> read = reads(inner);
    std::vector<ValueId> captured, replaced;
    for (std::size_t i = 0; i < inner.size(); ++i) {
      if (!read[i]) continue;
      captured.push_back(outer[i]);
      replaced.push_back(inner[i]);
    }
    const std::vector<ValueId> args = add_captured(module_, loop_, captured);
    Substitution map;
    for (std::size_t i = 0; i < args.size(); ++i) map[replaced[i]] = args[i];
    for (const NodeId id : nodes())
      for (ValueId& input : module_.node(id).inputs) input = substituted(map, input);
    for (ValueId& yield : module_.region(body_).yields) yield = substituted(map, yield);
  }

  /// Which of these values the nodes and yields of the body read.
  [[nodiscard]] std::vector<bool> reads(const std::vector<ValueId>& values) const {
    std::vector<ValueId> all = module_.region(body_).yields;
    for (const NodeId id : nodes())
      all.insert(all.end(), module_.node(id).inputs.begin(), module_.node(id).inputs.end());
    std::ranges::sort(all);
    std::vector<bool> result;
    for (const ValueId value : values) result.push_back(std::ranges::binary_search(all, value));
    return result;
  }

  Module& module_;
  const NodeId loop_;
  const ir::RegionId body_;
  std::vector<HoistFate>& fates_;
};

}  // namespace

// Inner loops first: work that leaves one may leave the next.
Expected<Change> hoist_invariant(ir::Module& module) {
  Change change;
  std::vector<HoistFate> fates;
  for (const NodeId id : nodes_with_regions(module, Order::inner_first)) {
    if (module.node(id).op != &ir::loop_op) continue;
    fates.resize(module.node_count());
    change |= Hoister(module, id, fates).run();
  }
  return change;
}

}  // namespace scanloom::passes
