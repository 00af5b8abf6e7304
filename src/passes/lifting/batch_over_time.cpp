// Batches products and kernel calls of a body that depend only on scanned, captured and constant
// values: they are computed once for the whole sequence, before the loop, and their results are
// scanned. One product of many rows replaces many of few rows; one call replaces many. Cheap work
// that they read, and cheap work that only reads them, moves along. Other cheap work stays in the
// loop, where it is done in registers.
//
// Bits do not change: sums are over the same elements in the same order. Work does not move if it
// may fail, if data or steps decide its sizes, or if the loop could skip it by ending early or by
// scanning less than the whole sequence.
//
// It runs after hoist_invariant, which has captured what is the same in every step, and after
// merge_common, so that equal work moves once.
#include <algorithm>
#include <map>

#include "base/checked.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "passes/analysis/over_time.h"
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

/// What happens to a node of the body.
enum class BatchFate : std::uint8_t {
  stays,
  copied,  ///< a moved node reads it; the rest of the body may read it too
  moves,
};

/// One loop.
class Batcher {
 public:
  Batcher(Module& module, NodeId loop, const KnownSizes& sizes, KnownTripCounts& counts,
          ir::ValueMap& results)
      : module_(module),
        loop_(loop),
        map_(results),
        body_(module.node(loop).regions[0]),
        parallel_steps_(runs_parallel_steps(module, loop)),
        sizes_(sizes),
        counts_(counts) {}

  Change run() {
    if (!takes_all_steps(module_, loop_) || !find_courses()) return {};
    find_what_can_move();
    if (!choose()) return {};
    mark_operands();
    return move();
  }

 private:
  /// Which steps a value of the body depends on: none (it is the same in all), the step of the
  /// course of that number, or more.
  static constexpr int kSame = -1, kMore = -2;

  [[nodiscard]] const std::vector<NodeId>& nodes() const { return module_.region(body_).nodes; }
  [[nodiscard]] const LoopPorts& ports() const { return *module_.node(loop_).loop; }
  [[nodiscard]] ValueId scanned_arg(std::size_t i) const {
    return module_.region(body_).args[ports().captured + ports().carried + i];
  }
  [[nodiscard]] int course(ValueId value) const {
    const auto found = course_.find(value);
    return found != course_.end() ? found->second : kMore;
  }
  [[nodiscard]] BatchFate fate(NodeId id) const {
    const auto found = fates_.find(id);
    return found != fates_.end() ? found->second : BatchFate::stays;
  }
  [[nodiscard]] BatchFate fate_of(ValueId value) const {
    if (!value.valid() || !module_.value(value).producer.valid()) return BatchFate::stays;
    return fate(module_.value(value).producer);
  }

  /// Numbers the courses of the scanned values. Returns whether there is one, and work that may
  /// gain.
  bool find_courses() {
    const auto may_gain = [&](NodeId id) { return may_gain_over_time(*module_.node(id).op); };
    if (ports().scanned.empty() || std::ranges::none_of(nodes(), may_gain)) return false;
    const std::vector<ir::Dim> steps = counts_.of(loop_);
    for (std::size_t i = 0; i < ports().scanned.size(); ++i) {
      const auto found = course_of(module_, loop_, i, steps);
      if (!found || !sizes_.has(module_.dims, found->steps)) {
        lengths_agree_ = false;
        continue;
      }
      lengths_agree_ &=
          ports().has_trip_count || courses_.empty() || found->steps == courses_.front().steps;
      const auto known = std::ranges::find(courses_, *found);
      course_[scanned_arg(i)] = static_cast<int>(known - courses_.begin());
      if (known == courses_.end()) courses_.push_back(*found);
    }
    for (std::size_t i = 0; i < ports().captured; ++i)
      course_[module_.region(body_).args[i]] = kSame;
    return !courses_.empty();
  }

  void find_what_can_move() {
    for (const NodeId id : nodes()) {
      const Node& node = module_.node(id);
      int own = kSame;
      std::vector<bool> varies;
      for (const ValueId input : node.inputs) {
        ++reads_[input];
        const int here = input.valid() ? course(input) : kSame;
        varies.push_back(here != kSame);
        own = here == kSame ? own : own == kSame || own == here ? here : kMore;
      }
      const bool moves = own == kSame ? is_free(id, varies) : own != kMore && is_worth(id, varies);
      for (const ValueId output : node.outputs) course_[output] = moves ? own : kMore;
    }
    for (const ValueId yield : module_.region(body_).yields) ++reads_[yield];
  }

  /// Whether the node is a constant, or a view of something that is the same in every step.
  [[nodiscard]] bool is_free(NodeId id, const std::vector<bool>& varies) {
    const Node& node = module_.node(id);
    return node.op == &ir::constant_op ||
           (node.op->access == ir::Access::view && can_lift(module_, sizes_, id, varies));
  }

  [[nodiscard]] bool is_worth(NodeId id, const std::vector<bool>& varies) {
    const Node& node = module_.node(id);
    return can_lift(module_, sizes_, id, varies) &&
           (!may_gain_over_time(*node.op) ||
            gains_over_time(module_, node, varies, parallel_steps_));
  }

  /// Marks the nodes that gain and the nodes that move along. Returns whether there are any.
  bool choose() {
    for (const NodeId id : nodes()) {
      const Node& node = module_.node(id);
      if (node.outputs.empty() || course(node.outputs[0]) < 0) continue;
      if (may_gain_over_time(*node.op) || goes_along(node)) fates_[id] = BatchFate::moves;
    }
    return !fates_.empty();
  }

  /// Whether the node is the only reader of the moved nodes that it reads, and its results are no
  /// larger: then scanning its results takes no more memory.
  [[nodiscard]] bool goes_along(const Node& node) const {
    bool any = false;
    std::int64_t elements = 0;
    for (const ValueId output : node.outputs)
      elements = saturating_sum(elements, known_elements(module_.value(output).type));
    for (const ValueId input : node.inputs) {
      if (fate_of(input) != BatchFate::moves) continue;
      if (reads_.at(input) > 1 || elements > known_elements(module_.value(input).type))
        return false;
      any = true;
    }
    return any;
  }

  void mark_operands() {
    const std::vector<NodeId>& body = nodes();
    for (auto id = body.rbegin(); id != body.rend(); ++id) {
      if (fate(*id) == BatchFate::stays) continue;
      for (const ValueId input : module_.node(*id).inputs) {
        const NodeId producer = input.valid() ? module_.value(input).producer : NodeId();
        if (producer.valid()) fates_.try_emplace(producer, BatchFate::copied);
      }
    }
  }

  Change move() {
    Outside outside(module_, loop_);
    if (!build(outside)) {
      outside.take_back();
      return {};
    }
    replace_rows();
    scan(outside);
    outside.put_before();
    return {.changed = true};
  }

  Expected<void> build(Outside& outside) {
    for (const NodeId id : nodes()) {
      if (fate(id) == BatchFate::stays) continue;
      for (const ValueId input : module_.node(id).inputs)
        if (input.valid() && !outside.has(input)) SCANLOOM_CHECK_OK(enter(outside, input));
      const int own = course(module_.node(id).outputs[0]);
      const ir::Dim steps = own >= 0 ? courses_[static_cast<std::size_t>(own)].steps : ir::Dim();
      SCANLOOM_CHECK_OK(outside.add(id, steps));
    }
    // Results replace stacked rows, unless only the loop would detect wrong lengths.
    for (std::size_t i = 0; lengths_agree_ && i < ports().stacked.size(); ++i)
      if (is_whole_result(i)) {
        SCANLOOM_TRY(results_[i], with_steps_along(outside.builder(), outside[row(i)],
                                                   static_cast<int>(ports().stacked[i].axis)));
      }
    return {};
  }

  /// Enters a scanned value that a moved node reads.
  Expected<void> enter(Outside& outside, ValueId argument) {
    const std::size_t scanned = module_.value(argument).index - ports().captured - ports().carried;
    SCANLOOM_TRY(const Lifted sequence, scanned_sequence(outside.builder(), loop_, scanned));
    outside.set(argument, sequence);
    return {};
  }

  [[nodiscard]] ValueId row(std::size_t stacked) const {
    return module_.region(body_).yields[ports().first_stacked_yield() + stacked];
  }

  /// Whether the stacked rows are the results of a moved node, in its order.
  [[nodiscard]] bool is_whole_result(std::size_t stacked) const {
    const ir::StackedPort& port = ports().stacked[stacked];
    if (fate_of(row(stacked)) != BatchFate::moves || !port.insert) return false;
    return courses_[static_cast<std::size_t>(course(row(stacked)))].backward == port.reverse;
  }

  void replace_rows() {
    if (results_.empty()) return;
    KeptPorts kept(ports());
    for (const auto& [stacked, value] : results_) {
      kept.stacked[stacked] = false;
      --reads_[row(stacked)];
      map_.set(module_.node(loop_).outputs[ports().carried + stacked], value);
    }
    keep_ports(module_, loop_, kept);
  }

  /// Scans the values that the rest of the body reads, and removes the nodes that made them.
  void scan(const Outside& outside) {
    std::erase_if(module_.region(body_).nodes, [&](NodeId id) {
      if (fate(id) != BatchFate::moves) return false;
      for (const ValueId input : module_.node(id).inputs) --reads_[input];
      moved_.push_back(id);
      return true;
    });
    std::vector<ValueId> inside, sequences;
    std::vector<ir::ScannedPort> scanned;
    for (const NodeId id : moved_)
      for (const ValueId value : module_.node(id).outputs) {
        if (reads_[value] == 0) continue;
        const bool backward = courses_[static_cast<std::size_t>(course(value))].backward;
        inside.push_back(value);
        sequences.push_back(outside[value].value);
        scanned.push_back(
            {.axis = outside[value].axis, .start = backward ? -1 : 0, .stride = backward ? -1 : 1});
      }
    replace(inside, add_scanned(module_, loop_, sequences, scanned));
  }

  void replace(const std::vector<ValueId>& values, const std::vector<ValueId>& by) {
    std::map<ValueId, ValueId> map;
    for (std::size_t i = 0; i < values.size(); ++i) map[values[i]] = by[i];
    const auto substitute = [&](ValueId& value) {
      if (const auto found = map.find(value); found != map.end()) value = found->second;
    };
    for (const NodeId id : nodes()) std::ranges::for_each(module_.node(id).inputs, substitute);
    std::ranges::for_each(module_.region(body_).yields, substitute);
  }

  Module& module_;
  const NodeId loop_;
  ir::ValueMap& map_;  ///< replacements of the results of loops
  const ir::RegionId body_;
  const bool parallel_steps_;
  const KnownSizes& sizes_;
  KnownTripCounts& counts_;
  std::vector<Course> courses_;
  bool lengths_agree_ = true;  ///< whether each scanned value is known to have a slice for each
                               ///< step
  std::map<ValueId, int> course_;
  std::map<ValueId, int> reads_;
  std::map<NodeId, BatchFate> fates_;
  std::vector<NodeId> moved_;
  std::map<std::size_t, ValueId> results_;  ///< by stacked port
};

bool has_work_in_loop(const Module& module) {
  return std::ranges::any_of(nodes_with_regions(module, Order::outer_first), [&](NodeId id) {
    const Node& node = module.node(id);
    return node.op == &ir::loop_op && !node.loop->scanned.empty() &&
           std::ranges::any_of(module.region(node.regions[0]).nodes, [&](NodeId inner) {
             return may_gain_over_time(*module.node(inner).op);
           });
  });
}

}  // namespace

// Inner loops first: work that leaves one may leave the next.
Expected<Change> batch_over_time(ir::Module& module) {
  if (!has_work_in_loop(module)) return Change{};
  const KnownSizes sizes(module);
  KnownTripCounts counts(module);
  return sweep_loops(module, [&](NodeId loop, ir::ValueMap& map) {
    return Batcher(module, loop, sizes, counts, map).run();
  });
}

}  // namespace scanloom::passes
