#include "passes/streaming/padded_flow.h"

#include <algorithm>
#include <optional>

#include "ir/node_attr.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "ops/step_rules.h"
#include "passes/analysis/over_time.h"
#include "passes/lifting/flow_of_carried.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/lifting/flow_of_sizes.h"
#include "passes/rewrite/layer_operands.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::across;
using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::StepFlow;
using ir::StepSite;
using ir::Type;
using ir::ValueId;
using Kind = StepFlow::Kind;

StepOrder opposite(StepOrder order) {
  if (order == StepOrder::any) return order;
  return order == StepOrder::forward ? StepOrder::backward : StepOrder::forward;
}

/// Whether a value has the same known sizes before and after each step.
bool keeps_sizes(const Type& before, const Type& after) {
  return before.is_tensor() && before.ranked && before.dtype != DType::string && before == after;
}

/// Walks the top region in order.
class PaddedFollower {
 public:
  PaddedFollower(const Module& module, Dim steps)
      : module_(module), steps_(steps), dims_(module.dims), uses_(ir::count_uses(module)) {
    found_.flows.resize(module.value_count());
    found_.orders.resize(module.value_count());
  }

  std::variant<PaddedFlow, Refusal> follow() {
    if (std::optional<Refusal> refusal = enter_all()) return *std::move(refusal);
    for (const NodeId id : module_.region(module_.top()).nodes)
      if (const Expected<void> visited = visit_and_check(id); !visited)
        return Refusal(visited.error().message(), id);
    for (const ValueId yield : module_.region(module_.top()).yields) {
      const Kind kind = yield.valid() ? found_.flows[yield.index].kind : Kind::same;
      if (kind == Kind::count || kind == Kind::sizes)
        return Refusal(fmt::format("result {} is the number of steps", module_.describe(yield)));
    }
    if (found_.walks.empty()) return Refusal("no loop or layer walks along the steps");
    return std::move(found_);
  }

 private:
  /// Padded sequences share a run, and with it the samples that it draws.
  std::optional<Refusal> enter_all() {
    for (const ir::RegionId region : ir::regions_outer_first(module_, module_.top()))
      for (const NodeId id : module_.region(region).nodes)
        if (module_.node(id).op->effects == ir::Effects::random)
          return Refusal("it draws random numbers", id);
    for (const ValueId arg : module_.region(module_.top()).args) {
      const Type& type = module_.value(arg).type;
      const auto count = std::ranges::count(type.dims, steps_);
      if (count > 1 || (count == 1 && !type.is_tensor()))
        return Refusal(fmt::format("input {} has the size of the steps on {} axes",
                                   module_.describe(arg), count));
      if (count == 0) continue;
      const auto axis = std::ranges::find(type.dims, steps_) - type.dims.begin();
      set(arg, {Kind::along, static_cast<int>(axis)}, StepOrder::forward);
    }
    return {};
  }

  void set(ValueId value, StepFlow flow, StepOrder order) {
    found_.flows[value.index] = flow;
    found_.orders[value.index] = order;
  }
  [[nodiscard]] StepOrder order_of(const StepSite& site, std::size_t operand) const {
    return found_.order(site.node.inputs[operand]);
  }

  /// Returns the order that all operands along the steps have.
  [[nodiscard]] Expected<StepOrder> common_order(const StepSite& site) const {
    StepOrder common = StepOrder::any;
    for (std::size_t i = 0; i < site.node.inputs.size(); ++i) {
      if (!site.along(i) || order_of(site, i) == StepOrder::any) continue;
      if (common != StepOrder::any && common != order_of(site, i))
        return across("its operands have them in opposite orders");
      common = order_of(site, i);
    }
    return common;
  }

  Expected<void> visit_and_check(NodeId id) {
    SCANLOOM_CHECK_OK(visit(id));
    return expect_no_hidden_steps({module_, module_.node(id), found_.flows, uses_, dims_, steps_});
  }

  Expected<void> visit(NodeId id) {
    const Node& node = module_.node(id);
    const StepSite site{module_, node, found_.flows, uses_, dims_, steps_};
    const bool along = has_operand_of(site, Kind::along);
    const bool counts = has_operand_of(site, Kind::count) || has_operand_of(site, Kind::sizes);
    if (!along && !counts) return {};
    if (node.op == &ir::loop_op) return visit_loop(site, id);
    if (reverses_along(site)) return visit_reversal(site, id);
    SCANLOOM_TRY(const StepOrder order, common_order(site));
    if (node.op == &ops::dim_op || node.op == &ops::shape_op || counts) {
      SCANLOOM_TRY(const StepFlow flow, flow_of_sizes(site));
      for (const ValueId output : node.outputs) set(output, flow, order);
      return {};
    }
    if (node.op->layer_states > 0) return visit_layer(site, id, order);
    if (picks_for_sizes(site)) return {};
    if (reverses(site)) {
      set(node.outputs[0], site.flow(0), opposite(order));
      return {};
    }
    if (const std::optional<std::int64_t> end = end_picked(site)) return visit_end(site, id, *end);
    SCANLOOM_TRY(const StepFlow flow, flow_along(site));
    if (flow.kind == Kind::sum) return across("it sums over them");
    if (flow.kind == Kind::last) return across("it picks the last one in another way than x[-1]");
    for (const ValueId output : node.outputs) set(output, flow, order);
    return {};
  }

  /// Whether the node is a slice that reverses the steps and cuts nothing else.
  static bool reverses(const StepSite& site) {
    if (site.node.op != &ops::slice_op || !site.along(0)) return false;
    const auto axes = site.has(3) ? ops::axes_of(site, 3) : std::vector<int>{0};
    const auto starts = site.integers(1), ends = site.integers(2), steps = site.integers(4);
    return axes && *axes == std::vector<int>{site.axis(0)} && starts && starts->size() == 1 &&
           (starts->front() == -1 || starts->front() >= INT32_MAX) && ends &&
           ends->front() <= -INT32_MAX && steps && steps->front() == -1;
  }

  static bool reverses_along(const StepSite& site) {
    if (site.node.op != &ops::reverse_sequence_op || !site.along(0) || !site.type(0).ranked)
      return false;
    const std::int64_t axis = attr_of(site.node, "time_axis").integer();
    return (axis < 0 ? axis + site.type(0).rank() : axis) == site.axis(0);
  }

  /// A reversal of as many steps as there are is that of all steps. Other lengths are inside the
  /// sequence, or fail.
  Expected<void> visit_reversal(const StepSite& site, NodeId id) {
    const Type& x = site.type(0);
    const std::int64_t batch = attr_of(site.node, "batch_axis").integer();
    if (site.flow(0).each != Dim(1)) return across("it reverses parts of them");
    if (x.dims[static_cast<std::size_t>(batch < 0 ? batch + x.rank() : batch)] != Dim(1))
      return across("its batch is not one row");
    StepOrder order = order_of(site, 0);
    if (kind_of(site, 1) == Kind::count) {
      order = opposite(order);
    } else {
      if (kind_of(site, 1) != Kind::same) return across("its lengths depend on them");
      if (order == StepOrder::backward)
        return across("it reverses the first ones of a reversed sequence");
      order = StepOrder::forward;
      found_.reversals.push_back(id);
    }
    set(site.node.outputs[0], site.flow(0), order);
    return {};
  }

  /// Returns 0 or -1 for a node that picks the first or the last element along the steps, with or
  /// without their axis.
  static std::optional<std::int64_t> end_picked(const StepSite& site) {
    if (!site.along(0) || site.flow(0).each != Dim(1) || !site.type(0).ranked) return {};
    const auto is_end = [](const auto& list) {
      return list && list->size() == 1 && (list->front() == 0 || list->front() == -1);
    };
    if (site.node.op == &ops::gather_op) {
      const std::int64_t axis = attr_of(site.node, "axis").integer();
      const bool is_of_steps = (axis < 0 ? axis + site.type(0).rank() : axis) == site.axis(0);
      const auto indices = site.integers(1);
      if (!is_of_steps || !is_end(indices) || site.type(1).rank() > 1) return {};
      return indices->front();
    }
    if (site.node.op != &ops::slice_op) return {};
    const auto axes = site.has(3) ? ops::axes_of(site, 3) : std::vector<int>{0};
    const auto starts = site.integers(1), ends = site.integers(2), steps = site.integers(4);
    if (!axes || *axes != std::vector<int>{site.axis(0)} || !is_end(starts) || !ends ||
        (site.has(4) && (!steps || steps->front() != 1)))
      return {};
    const bool is_one = starts->front() == 0 ? ends->front() == 1 : ends->front() >= INT32_MAX;
    return is_one ? std::optional(starts->front()) : std::nullopt;
  }

  /// The first element of a forward value, and the last one of a backward value, are never padding.
  Expected<void> visit_end(const StepSite& site, NodeId id, std::int64_t end) {
    const StepOrder order = order_of(site, 0);
    if (order == StepOrder::any || (order == StepOrder::forward) == (end == 0)) return {};
    if (end == 0) return across("it picks the first one of a reversed sequence");
    SCANLOOM_CHECK_OK(expect_known_sizes(site));
    found_.lasts.push_back({id, site.axis(0)});
    return {};
  }

  /// What picks the last step becomes a loop, which carries the element.
  static Expected<void> expect_known_sizes(const StepSite& site) {
    const Type& type = site.type(0);
    for (int axis = 0; axis < type.rank(); ++axis)
      if (axis != site.axis(0) && !type.dims[static_cast<std::size_t>(axis)].is_constant())
        return across("it picks the last one, whose sizes are not known");
    return {};
  }

  Expected<void> visit_layer(const StepSite& site, NodeId id, StepOrder order) {
    const Node& node = site.node;
    const int time = attr_of(node, "layout").integer() == 1 ? 1 : 0;
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (kind_of(site, i) != Kind::same)
        return across("an operand other than the sequence has them");
    if (site.flow(0).axis != time || site.flow(0).each != Dim(1))
      return across("it walks along another axis");
    if (order == StepOrder::backward && site.has(layers::kLengths))
      return across("its sequence is in reverse order, and it has lengths of its own");
    const Type& x = site.type(0);
    if (!x.ranked || x.rank() != 3 || x.dims[static_cast<std::size_t>(1 - time)] != Dim(1))
      return across("its batch is not one row");
    if (order == StepOrder::any) order = StepOrder::forward;
    set(node.outputs[0], {Kind::along, time}, order);
    found_.walks.push_back({id, order});
    return {};
  }

  Expected<void> visit_loop(const StepSite& site, NodeId id) {
    SCANLOOM_CHECK_OK(check_steps_of_loop(site, id));
    if (site.node.loop->scanned.empty()) return across("it counts them, but walks along none");
    SCANLOOM_TRY(const StepOrder order, order_of_loop(site));
    const LoopPorts& ports = *site.node.loop;
    const ir::Region& body = module_.region(site.node.regions[0]);
    for (std::uint32_t i = 0; i < ports.carried; ++i)
      if (!keeps_sizes(module_.value(body.args[ports.captured + i]).type,
                       module_.value(body.yields[ports.first_carried_yield() + i]).type))
        return across("a value that it carries may change its sizes");
    for (std::size_t i = 0; i < ports.stacked.size(); ++i) {
      SCANLOOM_TRY(const Dim each, elements_of_row(site, i));
      const ir::StackedPort& port = ports.stacked[i];
      set(site.node.outputs[ports.carried + i], {Kind::along, static_cast<int>(port.axis), each},
          port.reverse ? opposite(order) : order);
    }
    found_.walks.push_back({id, order});
    return {};
  }

  /// Returns the order of the loop's steps, which is that of what they scan.
  [[nodiscard]] Expected<StepOrder> order_of_loop(const StepSite& site) const {
    const LoopPorts& ports = *site.node.loop;
    std::optional<StepOrder> found;
    for (std::size_t i = 0; i < ports.scanned.size(); ++i) {
      SCANLOOM_TRY(const bool is_backward, scans_backwards(site, i));
      const StepOrder own = order_of(site, ports.first_scanned_input() + i);
      if (own == StepOrder::any) continue;
      const StepOrder order = is_backward ? opposite(own) : own;
      if (found && *found != order) return across("it walks along them in both directions");
      found = order;
    }
    return found.value_or(StepOrder::forward);
  }

  const Module& module_;
  const Dim steps_;
  tensor::DimTable dims_;
  const std::vector<std::uint32_t> uses_;  ///< by ValueId
  PaddedFlow found_;
};

}  // namespace

std::variant<PaddedFlow, Refusal> follow_padded(const Module& module, Dim steps) {
  return PaddedFollower(module, steps).follow();
}

}  // namespace scanloom::passes
