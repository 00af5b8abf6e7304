// Sinks products of a body that only feed stacked rows: they are computed once for all rows, after
// the loop. One product of many rows replaces many of few rows. Their operands are stacked instead,
// unless they are stacked or scanned already; nodes that follow the products move along. Cheap work
// on its own stays in the loop, where it is done in registers.
//
// Bits do not change: a product still sums over the same elements in the same order. Work does not
// move if it may fail, if data or steps decide its sizes, or if they decide the loop's number of
// steps.
//
// It runs after batch_over_time, which moves work that depends on no state, and before dead code is
// removed.
#include <algorithm>
#include <map>
#include <set>

#include "base/checked.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "passes/analysis/over_time.h"
#include "passes/loops/sequences.h"
#include "passes/pass.h"
#include "passes/rewrite/outside.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// How many times as large as the old stacks the new ones may be: a product is worth more than the
// bytes that it reads.
constexpr std::int64_t kMaxStackGrowth = 4;

/// One loop, and its stacked rows of one order.
class Sinker {
 public:
  Sinker(Module& module, NodeId loop, const KnownSizes& sizes, bool reverse, ir::ValueMap& results)
      : module_(module),
        loop_(loop),
        map_(results),
        body_(module.node(loop).regions[0]),
        sizes_(sizes),
        sequences_(module, loop, sizes, reverse) {}

  Change run() {
    if (!takes_all_steps(module_, loop_) || stacked().empty()) return {};
    find_same();
    find_sinkable();
    if (!choose()) return {};
    drop_large();
    return sinks_.empty() ? Change{} : move();
  }

 private:
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return module_.region(body_).nodes; }
  [[nodiscard]] const LoopPorts& ports() const { return *module_.node(loop_).loop; }
  /// The stacked ports considered.
  [[nodiscard]] const std::vector<std::size_t>& stacked() const { return sequences_.ports(); }
  [[nodiscard]] ValueId row(std::size_t stacked) const {
    return module_.region(body_).yields[ports().first_stacked_yield() + stacked];
  }
  [[nodiscard]] ValueId result(std::size_t stacked) const {
    return module_.node(loop_).outputs[ports().carried + stacked];
  }
  [[nodiscard]] bool sinks(ValueId value) const {
    const NodeId producer = module_.value(value).producer;
    return producer.valid() && sinks_.contains(producer);
  }

  /// Finds captured values, constants, and views of those.
  void find_same() {
    for (std::size_t i = 0; i < ports().captured; ++i) same_.insert(module_.region(body_).args[i]);
    for (const NodeId id : nodes()) {
      const Node& node = module_.node(id);
      const std::vector<bool> varies(node.inputs.size());
      const bool all = std::ranges::all_of(
          node.inputs, [&](ValueId input) { return !input.valid() || same_.contains(input); });
      const bool free = node.op == &ir::constant_op || (node.op->access == ir::Access::view &&
                                                        can_lift(module_, sizes_, id, varies));
      if (all && free) same_.insert(node.outputs.begin(), node.outputs.end());
    }
  }

  [[nodiscard]] std::vector<bool> varies(const Node& node) const {
    std::vector<bool> result;
    for (const ValueId input : node.inputs)
      result.push_back(input.valid() && !same_.contains(input));
    return result;
  }

  /// Finds nodes that can be lifted and only lead to those rows: every reader is such a node too.
  void find_sinkable() {
    std::map<ValueId, int> open;  // reads by other nodes and rows
    for (const ValueId yield : module_.region(body_).yields) ++open[yield];
    for (const std::size_t port : stacked()) --open[row(port)];
    for (const NodeId id : nodes())
      for (const ValueId input : module_.node(id).inputs) ++open[input];
    const std::vector<NodeId>& body = nodes();
    for (auto id = body.rbegin(); id != body.rend(); ++id) {
      const Node& node = module_.node(*id);
      const std::vector<bool> inputs = varies(node);
      if (node.outputs.size() != 1 || open[node.outputs[0]] != 0 ||
          std::ranges::find(inputs, true) == inputs.end() ||
          !can_lift(module_, sizes_, *id, inputs))
        continue;
      sinkable_.insert(*id);
      for (const ValueId input : node.inputs) --open[input];
    }
  }

  /// Chooses products that gain, everything that reads them, and views that lead only to them.
  /// Returns whether there are any.
  bool choose() {
    for (const NodeId id : nodes()) {
      if (!sinkable_.contains(id)) continue;
      const Node& node = module_.node(id);
      const bool reads = std::ranges::any_of(
          node.inputs, [&](ValueId input) { return input.valid() && sinks(input); });
      if (reads || gains(node)) sinks_.try_emplace(id, id);
    }
    if (sinks_.empty()) return false;
    add_views();
    return true;
  }

  [[nodiscard]] bool gains(const Node& node) const {
    return node.op->access == ir::Access::contract &&
           gains_over_time(module_, node, varies(node), false);
  }

  void add_views() {
    std::map<ValueId, int> others;  // reads by what stays
    for (const ValueId yield : module_.region(body_).yields) ++others[yield];
    const std::vector<NodeId>& body = nodes();
    for (auto id = body.rbegin(); id != body.rend(); ++id) {
      const Node& node = module_.node(*id);
      const bool leads = sinkable_.contains(*id) && node.op->access == ir::Access::view &&
                         others[node.outputs[0]] == 0;
      if (leads) sinks_.try_emplace(*id, *id);
      if (!sinks_.contains(*id))
        for (const ValueId input : node.inputs) ++others[input];
    }
  }

  // --- groups of connected nodes, each of which sinks or stays as a whole

  NodeId group(NodeId id) {
    while (sinks_[id] != id) id = sinks_[id] = sinks_[sinks_[id]];
    return id;
  }

  struct Cost {
    bool leads_to_rows = false;
    std::int64_t stacked_before = 0, stacked_after = 0;
    [[nodiscard]] bool pays() const {
      return leads_to_rows && stacked_after / kMaxStackGrowth <= stacked_before;
    }
  };

  /// Keeps in the loop the groups that would need much larger stacks.
  void drop_large() {
    for (const auto& [id, parent] : sinks_)
      for (const ValueId input : module_.node(id).inputs)
        if (input.valid() && sinks(input)) sinks_[group(id)] = group(module_.value(input).producer);
    std::map<NodeId, Cost> costs;
    for (const std::size_t port : stacked()) {
      if (!sinks(row(port))) continue;
      Cost& cost = costs[group(module_.value(row(port)).producer)];
      cost.leads_to_rows = true;
      cost.stacked_before =
          saturating_sum(cost.stacked_before, known_elements(module_.value(row(port)).type));
    }
    std::set<std::pair<NodeId, ValueId>> seen;
    for (const auto& [id, parent] : sinks_)
      for (const ValueId input : frontier(id))
        if (Cost& cost = costs[group(id)];
            seen.emplace(group(id), input).second && !sequences_.has(input))
          cost.stacked_after =
              saturating_sum(cost.stacked_after, known_elements(module_.value(input).type));
    std::vector<NodeId> dropped;
    for (const auto& [id, parent] : sinks_)
      if (!costs[group(id)].pays()) dropped.push_back(id);
    for (const NodeId id : dropped) sinks_.erase(id);
  }

  /// Returns the varying values outside the group that a sinking node reads.
  [[nodiscard]] std::vector<ValueId> frontier(NodeId id) const {
    std::vector<ValueId> values;
    for (const ValueId input : module_.node(id).inputs)
      if (input.valid() && !same_.contains(input) && !sinks(input)) values.push_back(input);
    return values;
  }

  // --- moving

  Change move() {
    mark_copied();
    stack_frontier();
    Outside outside(module_, loop_);
    if (!build(outside)) {
      outside.take_back();
      sequences_.unstack();
      return {};
    }
    outside.put_after();
    replace_results();
    return {.changed = true};
  }

  /// Stacks the missing values, along the axis of the first rows if they have that many axes.
  void stack_frontier() {
    std::vector<ValueId> rows;
    std::set<ValueId> seen;
    for (const NodeId id : nodes()) {
      if (!sinks_.contains(id)) continue;
      for (const ValueId value : frontier(id))
        if (!sequences_.has(value) && seen.insert(value).second) rows.push_back(value);
    }
    sequences_.stack(rows, ports().stacked[stacked().front()].axis);
  }

  Expected<void> build(Outside& outside) {
    for (const NodeId id : nodes()) {
      if (!copied_.contains(id) && !sinks_.contains(id)) continue;
      if (sinks_.contains(id))
        for (const ValueId value : frontier(id))
          if (!outside.has(value)) SCANLOOM_CHECK_OK(sequences_.enter(outside, value));
      SCANLOOM_CHECK_OK(outside.add(id, sequences_.steps()));
    }
    for (const std::size_t port : stacked()) {
      if (!sinks(row(port))) continue;
      SCANLOOM_TRY(results_[port], with_steps_along(outside.builder(), outside[row(port)],
                                                    static_cast<int>(ports().stacked[port].axis)));
    }
    return {};
  }

  /// Marks the nodes with equal results in every step that sinking nodes read.
  void mark_copied() {
    const std::vector<NodeId>& body = nodes();
    for (auto id = body.rbegin(); id != body.rend(); ++id) {
      if (!sinks_.contains(*id) && !copied_.contains(*id)) continue;
      for (const ValueId input : module_.node(*id).inputs)
        if (input.valid() && same_.contains(input) && module_.value(input).producer.valid())
          copied_.insert(module_.value(input).producer);
    }
  }

  void replace_results() {
    KeptPorts kept(ports());
    for (const auto& [port, value] : results_) {
      kept.stacked[port] = false;
      map_.set(result(port), value);
    }
    keep_ports(module_, loop_, kept);
    std::erase_if(module_.region(body_).nodes, [&](NodeId id) { return sinks_.contains(id); });
  }

  Module& module_;
  const NodeId loop_;
  ir::ValueMap& map_;  ///< replacements of the results of loops
  const ir::RegionId body_;
  const KnownSizes& sizes_;
  StepSequences sequences_;
  std::set<ValueId> same_;
  std::set<NodeId> sinkable_, copied_;
  std::map<NodeId, NodeId> sinks_;          ///< each with another one of its group, or itself
  std::map<std::size_t, ValueId> results_;  ///< by stacked port
};

}  // namespace

// Inner loops first: work that leaves one may leave the next.
Expected<Change> sink_after_loop(ir::Module& module) {
  const KnownSizes sizes(module);
  return sweep_loops(module, [&](NodeId loop, ir::ValueMap& map) {
    Change change;
    for (const bool reverse : {false, true})
      change |= Sinker(module, loop, sizes, reverse, map).run();
    return change;
  });
}

}  // namespace scanloom::passes
