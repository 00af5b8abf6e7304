#include "passes/loops/fuse_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/analysis/body_kinds.h"
#include "passes/analysis/loop_facts.h"
#include "passes/analysis/over_time.h"
#include "passes/loops/joined_loops.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"
#include "passes/streaming/row_flow.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

/// The maximum number of nodes that move into the body.
constexpr std::size_t kMaxNodesBetween = 16;

/// A loop and a later one.
class Pair {
 public:
  Pair(Module& module, NodeId producer, NodeId consumer, std::vector<std::uint32_t>& uses,
       std::vector<NodeId> nodes)
      : module_(module),
        producer_(producer),
        consumer_(consumer),
        uses_(uses),
        nodes_(std::move(nodes)),
        lanes_(lanes_of(module, module.node(consumer).regions[0])),
        flow_(module, producer, nodes_) {}

  /// Returns whether both became one, the producer.
  Expected<bool> run() {
    if (!find_rows() || !steps_agree() || !find_between() || !stacks_fit() ||
        has_many_functions() || has_wide_product())
      return false;
    SCANLOOM_CHECK_OK(fuse());
    return true;
  }

 private:
  [[nodiscard]] const Node& producer() const { return module_.node(producer_); }
  [[nodiscard]] const Node& consumer() const { return module_.node(consumer_); }
  [[nodiscard]] const LoopPorts& ports() const { return *consumer().loop; }
  [[nodiscard]] ir::Region& body() { return module_.region(consumer().regions[0]); }
  [[nodiscard]] ValueId scanned_input(std::size_t i) const {
    return consumer().inputs[ports().first_scanned_input() + i];
  }
  [[nodiscard]] ValueId scanned_arg(std::size_t i) {
    return body().args[ports().captured + ports().carried + i];
  }

  // --- whether they may become one

  /// Finds which of the producer's rows the consumer scans. Returns whether there are any, and the
  /// consumer needs nothing else of the producer. The trip count does not count: see steps_agree.
  bool find_rows() {
    const std::vector<ValueId>& inputs = consumer().inputs;
    for (std::size_t i = ports().first_captured_input(); i < ports().first_scanned_input(); ++i)
      if (flow_.depends(inputs[i])) return false;
    for (std::size_t i = 0; i < ports().scanned.size(); ++i) {
      if (!flow_.depends(scanned_input(i))) continue;
      if (!is_row_by_row(i)) return false;
      fused_.push_back(i);
    }
    return !fused_.empty();
  }

  /// Whether the slice of each step is the row that the same step of the producer makes.
  [[nodiscard]] bool is_row_by_row(std::size_t scanned) const {
    const RowSequence* sequence = flow_.find(scanned_input(scanned));
    if (sequence == nullptr) return false;
    ir::ScannedPort wanted{.axis = sequence->axis, .squeeze = ports().scanned[scanned].squeeze};
    if (sequence->reverse) wanted.start = wanted.stride = -1;
    return ports().scanned[scanned] == wanted;
  }

  /// Whether the consumer takes a step for each row, for any sizes.
  [[nodiscard]] bool steps_agree() const {
    std::set<Dim> rows;
    for (const std::size_t i : fused_) rows.insert(flow_.find(scanned_input(i))->steps);
    for (std::size_t i = 0; i < ports().scanned.size(); ++i) {
      const auto slices = slices_of(module_, consumer(), i);
      if (!slices || !rows.contains(*slices)) return false;
    }
    if (!ports().has_trip_count) return true;
    if (producer().loop->has_trip_count && producer().inputs[0] == consumer().inputs[0])
      return true;
    const auto count = count_steps(module_, consumer());
    return count && !count->trip_count.valid() && rows.contains(*count->steps);
  }

  /// Finds the nodes between the loops that move into the body. Returns whether they may.
  bool find_between() {
    std::vector<ValueId> pending;
    for (const std::size_t i : fused_) pending.push_back(scanned_input(i));
    while (!pending.empty()) {
      const ValueId value = pending.back();
      pending.pop_back();
      ++reads_[value];
      const NodeId maker = flow_.find(value)->maker;
      if (!maker.valid() || !between_.insert(maker).second) continue;
      for (const ValueId input : module_.node(maker).inputs)
        if (flow_.depends(input)) pending.push_back(input);
    }
    if (between_.size() > kMaxNodesBetween) return false;
    count_read_of_size();
    return std::ranges::all_of(between_, [&](NodeId id) {
      const ValueId result = module_.node(id).outputs[0];
      return uses_[result.index] == reads_[result] && keeps_lanes(id);
    });
  }

  /// Counts the read by the trip count's size, which will be removed.
  void count_read_of_size() {
    if (!ports().has_trip_count || uses_[consumer().inputs[0].index] > 1) return;
    const Node* size = made_by(module_, consumer().inputs[0], ops::dim_op);
    if (size != nullptr && reads_.contains(size->inputs[0])) ++reads_[size->inputs[0]];
  }

  /// Whether an element program remains one with the node in it: everything that a step reads and
  /// makes has one element, or one per lane.
  bool keeps_lanes(NodeId id) {
    if (!lanes_) return true;
    const Node& node = module_.node(id);
    const StepsOfNode& steps = flow_.find(node.outputs[0])->lowers;
    const auto fits = [&](ValueId value, int axis) {
      if (!value.valid()) return true;
      Type type = module_.value(value).type;
      if (axis != StepsOfNode::kSame) type.dims.erase(type.dims.begin() + axis);
      const Dim elements = elements_of(module_, type);
      return elements == Dim(1) || elements == *lanes_;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (!fits(node.inputs[i], steps.operands[i])) return false;
    return fits(node.outputs[0], steps.result);
  }

  /// Whether the remaining stacks are small enough to be in memory at once. If no stack of the
  /// producer remains, there is less than before.
  bool stacks_fit() {
    const LoopPorts& made = *producer().loop;
    std::int64_t remaining = 0;
    for (std::size_t i = made.carried; i < made.output_count(); ++i) {
      const ValueId stack = producer().outputs[i];
      const std::uint32_t reads = reads_.contains(stack) ? reads_.at(stack) : 0;
      if (uses_[stack.index] > reads) remaining += stacked_bytes(module_, stack);
    }
    return remaining == 0 || remaining + stacked_bytes(module_, consumer()) <= kMaxStackedBytes;
  }

  /// Whether more than one part of the joined element program would compute functions. Fusing then
  /// gains nothing: too few registers for everything that they read, and too many stages
  /// (jit/stages.h).
  [[nodiscard]] bool has_many_functions() const {
    const auto is_one = [&](NodeId id) { return is_function(module_, id); };
    std::ptrdiff_t parts = std::ranges::count_if(between_, is_one);
    for (const Node* loop : {&producer(), &consumer()})
      parts += std::ranges::any_of(module_.region(loop->regions[0]).nodes, is_one);
    return lanes_ && parts > 1;
  }

  /// Whether the consumer has a product that is worth computing for all steps at once and depends
  /// on no state: after fusing that would no longer be possible.
  bool has_wide_product() {
    std::set<ValueId> varies, states;
    for (std::size_t i = 0; i < body().args.size(); ++i)
      if (i >= ports().captured)
        (i < ports().captured + ports().carried ? states : varies).insert(body().args[i]);
    for (const NodeId id : body().nodes) {
      const Node& node = module_.node(id);
      std::vector<bool> here;
      bool has_state = false;
      for (const ValueId input : node.inputs) {
        here.push_back(varies.contains(input));
        has_state |= states.contains(input);
      }
      if (!has_state && gains_over_time(module_, node, here, false)) return true;
      const bool any = std::ranges::find(here, true) != here.end();
      if (has_state) states.insert(node.outputs.begin(), node.outputs.end());
      if (!has_state && any) varies.insert(node.outputs.begin(), node.outputs.end());
    }
    return false;
  }

  // --- fusing

  Expected<void> fuse() {
    SCANLOOM_CHECK_OK(lower_between());
    std::map<ValueId, ValueId> by;
    for (const std::size_t i : fused_) {
      SCANLOOM_TRY(by[scanned_arg(i)], slice_of(i));
    }
    const auto substitute = [&](ValueId& value) {
      if (const auto found = by.find(value); found != by.end()) value = found->second;
    };
    for (const NodeId id : body().nodes) std::ranges::for_each(module_.node(id).inputs, substitute);
    std::ranges::for_each(body().yields, substitute);
    drop_fused_ports();
    for (const auto& [value, reads] : reads_) uses_[value.index] -= reads;
    absorb(module_, producer_, consumer_);
    return {};
  }

  void drop_fused_ports() {
    KeptPorts kept(ports());
    for (const std::size_t i : fused_) kept.scanned[i] = false;
    keep_ports(module_, consumer_, kept);
    // The steps are now those of the producer.
    Node& node = module_.node(consumer_);
    if (std::exchange(node.loop->has_trip_count, false)) node.inputs.erase(node.inputs.begin());
  }

  /// Makes in the producer's body what a step needs of the values between the loops.
  Expected<void> lower_between() {
    for (const auto& [value, reads] : reads_)
      if (!flow_.find(value)->maker.valid()) SCANLOOM_CHECK_OK(enter_row(value));
    for (const NodeId id : nodes_) {
      if (!between_.contains(id)) continue;
      const std::vector<ValueId> inputs = module_.node(id).inputs;
      const ValueId result = module_.node(id).outputs[0];
      const RowSequence& sequence = *flow_.find(result);
      std::vector<ValueId> operands;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        operands.push_back(flow_.depends(inputs[i])
                               ? rows_[inputs[i]]
                               : enter(inputs[i], sequence.lowers.operands[i], sequence.reverse));
      ir::Builder builder(module_, producer().regions[0]);
      SCANLOOM_TRY(rows_[result], lower(builder, id, sequence.lowers, std::move(operands)));
      module_.value(rows_[result]).name = module_.value(result).name;
    }
    return {};
  }

  /// Enters the row of a stack, without the axis along which it would be concatenated.
  Expected<void> enter_row(ValueId stack) {
    const LoopPorts& made = *producer().loop;
    const std::size_t i = module_.value(stack).index - made.carried;
    const ValueId row =
        module_.region(producer().regions[0]).yields[made.first_stacked_yield() + i];
    if (made.stacked[i].insert) {
      rows_[stack] = row;
      return {};
    }
    SCANLOOM_TRY(rows_[stack], view(ops::squeeze_op, row, made.stacked[i].axis));
    return {};
  }

  /// Returns what replaces the consumer's argument: the row, with an axis of size 1 if the slice
  /// has one.
  Expected<ValueId> slice_of(std::size_t scanned) {
    const ValueId row = rows_[scanned_input(scanned)];
    const ir::ScannedPort& port = ports().scanned[scanned];
    if (port.squeeze) return row;
    return view(ops::unsqueeze_op, row, port.axis);
  }

  Expected<ValueId> view(const ir::OpDef& op, ValueId value, std::int64_t axis) {
    ir::Builder builder(module_, producer().regions[0]);
    builder.set_location(producer().location);
    return builder.op(op, {value}, {{"axes", std::vector<std::int64_t>{axis}}});
  }

  /// Enters an operand that does not depend on the producer: scanned along the axis, or captured.
  ValueId enter(ValueId outer, int axis, bool reverse) {
    if (!outer.valid()) return outer;
    ValueId& inner = entered_[{outer, axis, reverse}];
    if (inner.valid()) return inner;
    if (axis == StepsOfNode::kSame) return inner = add_captured(module_, producer_, {&outer, 1})[0];
    const ir::ScannedPort port{.axis = axis, .start = reverse ? -1 : 0, .stride = reverse ? -1 : 1};
    return inner = add_scanned(module_, producer_, {&outer, 1}, {&port, 1})[0];
  }

  Module& module_;
  const NodeId producer_, consumer_;
  std::vector<std::uint32_t>& uses_;  ///< by ValueId
  const std::vector<NodeId> nodes_;   ///< between the two, in order
  const std::optional<Dim> lanes_;    ///< of both bodies
  const RowFlow flow_;
  std::vector<std::size_t> fused_;          ///< scanned ports of the consumer
  std::set<NodeId> between_;                ///< nodes that go into the body
  std::map<ValueId, std::uint32_t> reads_;  ///< their reads by these nodes and the fused ports
  /// Values in the producer's body: those that depend on it, and the others by the axis of the
  /// steps and whether they start at its end.
  std::map<ValueId, ValueId> rows_;
  std::map<std::tuple<ValueId, int, bool>, ValueId> entered_;
};

}  // namespace

Expected<bool> fuse_rows(Module& module, NodeId producer, NodeId consumer,
                         std::vector<std::uint32_t>& uses, std::vector<NodeId> nodes) {
  return Pair(module, producer, consumer, uses, std::move(nodes)).run();
}

}  // namespace scanloom::passes
