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

/// A loop and a later one, of which the first may take over the steps.
class LoopPair {
 public:
  LoopPair(Module& module, NodeId producer, NodeId consumer, std::vector<NodeId> nodes)
      : module_(module),
        producer_(producer),
        consumer_(consumer),
        nodes_(std::move(nodes)),
        flow_(module, producer, nodes_) {}

  [[nodiscard]] Module& module() const { return module_; }
  [[nodiscard]] NodeId producer_id() const { return producer_; }
  [[nodiscard]] NodeId consumer_id() const { return consumer_; }
  /// The nodes between the two, in order.
  [[nodiscard]] const std::vector<NodeId>& nodes() const { return nodes_; }
  [[nodiscard]] const RowFlow& flow() const { return flow_; }

  [[nodiscard]] const Node& producer() const { return module_.node(producer_); }
  [[nodiscard]] const Node& consumer() const { return module_.node(consumer_); }
  [[nodiscard]] const LoopPorts& ports() const { return *consumer().loop; }
  [[nodiscard]] const ir::Region& body() const { return module_.region(consumer().regions[0]); }
  [[nodiscard]] ValueId scanned_input(std::size_t i) const {
    return consumer().inputs[ports().first_scanned_input() + i];
  }
  [[nodiscard]] ValueId scanned_arg(std::size_t i) const {
    return body().args[ports().captured + ports().carried + i];
  }

 private:
  Module& module_;
  const NodeId producer_, consumer_;
  const std::vector<NodeId> nodes_;
  const RowFlow flow_;
};

/// What becomes part of the producer's loop.
struct RowFusion {
  std::vector<std::size_t> ports;          ///< scanned ports of the consumer
  std::set<NodeId> between;                ///< nodes that go into the body
  std::map<ValueId, std::uint32_t> reads;  ///< reads of values by these nodes and ports
};

/// Finds whether the two loops may become one, and what that takes. Changes nothing.
class RowFusionFinder {
 public:
  RowFusionFinder(const LoopPair& pair, const std::vector<std::uint32_t>& uses)
      : pair_(pair),
        module_(pair.module()),
        uses_(uses),
        lanes_(lanes_of(module_, pair.consumer().regions[0])) {}

  /// Returns nullopt if they may not, or should not.
  std::optional<RowFusion> find() {
    if (!find_rows() || !steps_agree() || !find_between() || !stacks_fit() ||
        has_many_functions() || has_wide_product())
      return std::nullopt;
    return std::move(fusion_);
  }

 private:
  /// Finds which of the producer's rows the consumer scans. Returns whether there are any, and the
  /// consumer needs nothing else of the producer. The trip count does not count: see steps_agree.
  bool find_rows() {
    const std::vector<ValueId>& inputs = pair_.consumer().inputs;
    for (std::size_t i = pair_.ports().first_captured_input();
         i < pair_.ports().first_scanned_input(); ++i)
      if (pair_.flow().depends(inputs[i])) return false;
    for (std::size_t i = 0; i < pair_.ports().scanned.size(); ++i) {
      if (!pair_.flow().depends(pair_.scanned_input(i))) continue;
      if (!is_row_by_row(i)) return false;
      fusion_.ports.push_back(i);
    }
    return !fusion_.ports.empty();
  }

  /// Whether the slice of each step is the row that the same step of the producer makes.
  [[nodiscard]] bool is_row_by_row(std::size_t scanned) const {
    const RowSequence* sequence = pair_.flow().find(pair_.scanned_input(scanned));
    if (sequence == nullptr) return false;
    ir::ScannedPort wanted{.axis = sequence->axis,
                           .squeeze = pair_.ports().scanned[scanned].squeeze};
    if (sequence->reverse) wanted.start = wanted.stride = -1;
    return pair_.ports().scanned[scanned] == wanted;
  }

  /// Whether the consumer takes a step for each row, for any sizes.
  [[nodiscard]] bool steps_agree() const {
    std::set<Dim> rows;
    for (const std::size_t i : fusion_.ports)
      rows.insert(pair_.flow().find(pair_.scanned_input(i))->steps);
    for (std::size_t i = 0; i < pair_.ports().scanned.size(); ++i) {
      const auto slices = slices_of(module_, pair_.consumer(), i);
      if (!slices || !rows.contains(*slices)) return false;
    }
    if (!pair_.ports().has_trip_count) return true;
    if (pair_.producer().loop->has_trip_count &&
        pair_.producer().inputs[0] == pair_.consumer().inputs[0])
      return true;
    const auto count = count_steps(module_, pair_.consumer());
    return count && !count->trip_count.valid() && rows.contains(*count->steps);
  }

  /// Finds the nodes between the loops that move into the body. Returns whether they may.
  bool find_between() {
    std::vector<ValueId> pending;
    for (const std::size_t i : fusion_.ports) pending.push_back(pair_.scanned_input(i));
    while (!pending.empty()) {
      const ValueId value = pending.back();
      pending.pop_back();
      ++fusion_.reads[value];
      const NodeId maker = pair_.flow().find(value)->maker;
      if (!maker.valid() || !fusion_.between.insert(maker).second) continue;
      for (const ValueId input : module_.node(maker).inputs)
        if (pair_.flow().depends(input)) pending.push_back(input);
    }
    if (fusion_.between.size() > kMaxNodesBetween) return false;
    count_read_of_size();
    return std::ranges::all_of(fusion_.between, [&](NodeId id) {
      const ValueId result = module_.node(id).outputs[0];
      return uses_[result.index] == fusion_.reads[result] && keeps_lanes(id);
    });
  }

  /// Counts the read by the trip count's size, which will be removed.
  void count_read_of_size() {
    if (!pair_.ports().has_trip_count || uses_[pair_.consumer().inputs[0].index] > 1) return;
    const Node* size = made_by(module_, pair_.consumer().inputs[0], ops::dim_op);
    if (size != nullptr && fusion_.reads.contains(size->inputs[0]))
      ++fusion_.reads[size->inputs[0]];
  }

  /// Whether an element program remains one with the node in it: everything that a step reads and
  /// makes has one element, or one per lane.
  bool keeps_lanes(NodeId id) {
    if (!lanes_) return true;
    const Node& node = module_.node(id);
    const StepsOfNode& steps = pair_.flow().find(node.outputs[0])->lowers;
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
    const LoopPorts& made = *pair_.producer().loop;
    std::int64_t remaining = 0;
    for (std::size_t i = made.carried; i < made.output_count(); ++i) {
      const ValueId stack = pair_.producer().outputs[i];
      const std::uint32_t reads = fusion_.reads.contains(stack) ? fusion_.reads.at(stack) : 0;
      if (uses_[stack.index] > reads) remaining += stacked_bytes(module_, stack);
    }
    return remaining == 0 ||
           remaining + stacked_bytes(module_, pair_.consumer()) <= kMaxStackedBytes;
  }

  /// Whether more than one part of the joined element program would compute functions. Fusing then
  /// gains nothing: too few registers for everything that they read, and too many stages
  /// (jit/stages.h).
  [[nodiscard]] bool has_many_functions() const {
    const auto is_one = [&](NodeId id) { return is_function(module_, id); };
    std::ptrdiff_t parts = std::ranges::count_if(fusion_.between, is_one);
    for (const Node* loop : {&pair_.producer(), &pair_.consumer()})
      parts += std::ranges::any_of(module_.region(loop->regions[0]).nodes, is_one);
    return lanes_ && parts > 1;
  }

  /// Whether the consumer has a product that is worth computing for all steps at once and depends
  /// on no state: after fusing that would no longer be possible.
  bool has_wide_product() {
    std::set<ValueId> varies, states;
    for (std::size_t i = 0; i < pair_.body().args.size(); ++i)
      if (i >= pair_.ports().captured)
        (i < pair_.ports().captured + pair_.ports().carried ? states : varies)
            .insert(pair_.body().args[i]);
    for (const NodeId id : pair_.body().nodes) {
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

  const LoopPair& pair_;
  Module& module_;
  const std::vector<std::uint32_t>& uses_;  ///< by ValueId
  const std::optional<Dim> lanes_;          ///< of both bodies
  RowFusion fusion_;
};

/// Makes one loop, the producer, of both.
class RowFuser {
 public:
  RowFuser(const LoopPair& pair, const RowFusion& fusion, std::vector<std::uint32_t>& uses)
      : pair_(pair), module_(pair.module()), fusion_(fusion), uses_(uses) {}

  Expected<void> fuse() {
    SCANLOOM_CHECK_OK(lower_between());
    std::map<ValueId, ValueId> by;
    for (const std::size_t i : fusion_.ports) {
      SCANLOOM_TRY(by[pair_.scanned_arg(i)], slice_of(i));
    }
    const auto substitute = [&](ValueId& value) {
      if (const auto found = by.find(value); found != by.end()) value = found->second;
    };
    for (const NodeId id : pair_.body().nodes)
      std::ranges::for_each(module_.node(id).inputs, substitute);
    std::ranges::for_each(module_.region(pair_.consumer().regions[0]).yields, substitute);
    drop_fused_ports();
    for (const auto& [value, reads] : fusion_.reads) uses_[value.index] -= reads;
    absorb(module_, pair_.producer_id(), pair_.consumer_id());
    return {};
  }

 private:
  void drop_fused_ports() {
    KeptPorts kept(pair_.ports());
    for (const std::size_t i : fusion_.ports) kept.scanned[i] = false;
    keep_ports(module_, pair_.consumer_id(), kept);
    // The steps are now those of the producer.
    Node& node = module_.node(pair_.consumer_id());
    if (std::exchange(node.loop->has_trip_count, false)) node.inputs.erase(node.inputs.begin());
  }

  /// Makes in the producer's body what a step needs of the values between the loops.
  Expected<void> lower_between() {
    for (const auto& [value, reads] : fusion_.reads)
      if (!pair_.flow().find(value)->maker.valid()) SCANLOOM_CHECK_OK(enter_row(value));
    for (const NodeId id : pair_.nodes()) {
      if (!fusion_.between.contains(id)) continue;
      const std::vector<ValueId> inputs = module_.node(id).inputs;
      const ValueId result = module_.node(id).outputs[0];
      const RowSequence& sequence = *pair_.flow().find(result);
      std::vector<ValueId> operands;
      for (std::size_t i = 0; i < inputs.size(); ++i)
        operands.push_back(pair_.flow().depends(inputs[i])
                               ? rows_[inputs[i]]
                               : enter(inputs[i], sequence.lowers.operands[i], sequence.reverse));
      ir::Builder builder(module_, pair_.producer().regions[0]);
      SCANLOOM_TRY(rows_[result], lower(builder, id, sequence.lowers, std::move(operands)));
      module_.value(rows_[result]).name = module_.value(result).name;
    }
    return {};
  }

  /// Enters the row of a stack, without the axis along which it would be concatenated.
  Expected<void> enter_row(ValueId stack) {
    const LoopPorts& made = *pair_.producer().loop;
    const std::size_t i = module_.value(stack).index - made.carried;
    const ValueId row =
        module_.region(pair_.producer().regions[0]).yields[made.first_stacked_yield() + i];
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
    const ValueId row = rows_[pair_.scanned_input(scanned)];
    const ir::ScannedPort& port = pair_.ports().scanned[scanned];
    if (port.squeeze) return row;
    return view(ops::unsqueeze_op, row, port.axis);
  }

  Expected<ValueId> view(const ir::OpDef& op, ValueId value, std::int64_t axis) {
    ir::Builder builder(module_, pair_.producer().regions[0]);
    builder.set_location(pair_.producer().location);
    return builder.op(op, {value}, {{"axes", std::vector<std::int64_t>{axis}}});
  }

  /// Enters an operand that does not depend on the producer: scanned along the axis, or captured.
  ValueId enter(ValueId outer, int axis, bool reverse) {
    if (!outer.valid()) return outer;
    ValueId& inner = entered_[{outer, axis, reverse}];
    if (inner.valid()) return inner;
    if (axis == StepsOfNode::kSame)
      return inner = add_captured(module_, pair_.producer_id(), {&outer, 1})[0];
    const ir::ScannedPort port{.axis = axis, .start = reverse ? -1 : 0, .stride = reverse ? -1 : 1};
    return inner = add_scanned(module_, pair_.producer_id(), {&outer, 1}, {&port, 1})[0];
  }

  const LoopPair& pair_;
  Module& module_;
  const RowFusion& fusion_;
  std::vector<std::uint32_t>& uses_;  ///< by ValueId
  /// Values in the producer's body: those that depend on it, and the others by the axis of the
  /// steps and whether they start at its end.
  std::map<ValueId, ValueId> rows_;
  std::map<std::tuple<ValueId, int, bool>, ValueId> entered_;
};

}  // namespace

Expected<bool> fuse_rows(Module& module, NodeId producer, NodeId consumer,
                         std::vector<std::uint32_t>& uses, std::vector<NodeId> nodes) {
  const LoopPair pair(module, producer, consumer, std::move(nodes));
  const auto fusion = RowFusionFinder(pair, uses).find();
  if (!fusion) return false;
  SCANLOOM_CHECK_OK(RowFuser(pair, *fusion, uses).fuse());
  return true;
}

}  // namespace scanloom::passes
