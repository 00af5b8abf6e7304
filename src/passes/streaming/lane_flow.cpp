#include "passes/streaming/lane_flow.h"

#include <algorithm>
#include <string>

#include "ir/node_attr.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/lifting/flow_of_results.h"
#include "passes/lifting/flow_of_sizes.h"
#include "passes/rewrite/layer_operands.h"
#include "passes/streaming/stream_form.h"

namespace scanloom::passes {
namespace {

using ir::attr_of;
using ir::Dim;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::StepFlow;
using ir::StepSite;
using ir::ValueId;
using Kind = StepFlow::Kind;
/// Nothing, or why the rows of a node are not kept apart.
using Trouble = std::optional<Refusal>;

class LaneFollower {
 public:
  LaneFollower(const Module& module, Dim batch, LaneAxisList axes)
      : module_(module),
        batch_(batch),
        arguments_(std::move(axes)),
        dims_(module.dims),
        uses_(ir::count_uses(module)),
        read_(values_read(module)) {}

  /// Each round gives a state that had none the axis that its next value turned out to have.
  std::variant<LaneAxes, Refusal> follow() {
    const ir::Region& top = module_.region(module_.top());
    do {
      is_changed_ = false;
      flows_.assign(module_.value_count(), {});
      for (std::size_t i = 0; i < top.args.size(); ++i) set_axis(top.args[i], arguments_[i]);
      Trouble trouble = follow_region(module_.top());
      if (!is_changed_ && !trouble) trouble = check_states();
      if (!is_changed_ && trouble) return *std::move(trouble);
    } while (is_changed_);
    LaneAxes found{.arguments = arguments_, .results = {}};
    for (std::size_t i = 0; i < top.yields.size(); ++i) {
      if (holds_count(top.yields[i]))
        return Refusal(fmt::format("output '{}' is computed from the size of the batch",
                                   module_.output_names[i]));
      found.results.push_back(axis_of(top.yields[i]));
    }
    return found;
  }

 private:
  [[nodiscard]] const StepFlow& flow(ValueId value) const { return flows_[value.index]; }
  [[nodiscard]] bool along(ValueId value) const {
    return value.valid() && flow(value).kind == Kind::along;
  }
  [[nodiscard]] bool holds_count(ValueId value) const {
    return value.valid() && (flow(value).kind == Kind::count || flow(value).kind == Kind::sizes);
  }
  [[nodiscard]] std::optional<int> axis_of(ValueId value) const {
    return along(value) ? std::optional(flow(value).axis) : std::nullopt;
  }
  void set_axis(ValueId value, std::optional<int> axis) {
    flows_[value.index] = axis ? StepFlow{Kind::along, *axis} : StepFlow{};
  }

  Trouble follow_region(RegionId region) {
    for (const NodeId id : module_.region(region).nodes) {
      // What only initial values are computed from is left in a stream form.
      const auto is_read = [&](ValueId value) { return read_[value.index]; };
      if (region == module_.top() && std::ranges::none_of(module_.node(id).outputs, is_read))
        continue;
      Trouble trouble = follow_node(id);
      if (is_changed_) return std::nullopt;
      if (!trouble) continue;
      if (!trouble->node.valid()) trouble->node = id;
      return trouble;
    }
    return std::nullopt;
  }

  Trouble follow_node(NodeId id) {
    const Node& node = module_.node(id);
    if (node.op == &ir::loop_op) return follow_loop(node);
    if (node.op == &ir::branch_op) return follow_branch(node);
    const bool counts = std::ranges::any_of(node.inputs, [&](ValueId v) { return holds_count(v); });
    if (!counts && std::ranges::none_of(node.inputs, [&](ValueId v) { return along(v); }))
      return {};
    if (node.op->layer_states > 0) return follow_layer(node);
    if (!all_ranked(node)) return Refusal("the number of axes of a value is not known");
    const StepSite site{module_, node, flows_, uses_, dims_, batch_};
    const bool reads_sizes = counts || node.op == &ops::dim_op || node.op == &ops::shape_op;
    const Expected<StepFlow> found = reads_sizes ? flow_of_sizes(site) : flow_of_results(site);
    if (!found) return Refusal(mixes(found.error().message()));
    if (found->kind == Kind::along && found->each != Dim(1))
      return Refusal("it joins the axis of the batch with another");
    for (const ValueId output : node.outputs) flows_[output.index] = *found;
    return {};
  }

  /// The rules of operators speak of steps.
  static std::string mixes(std::string_view why) {
    return fmt::format("it may mix the rows of a batch ({})", why);
  }

  [[nodiscard]] bool all_ranked(const Node& node) const {
    const auto is_ranked = [&](ValueId value) {
      return !value.valid() || module_.value(value).type.ranked;
    };
    return std::ranges::all_of(node.inputs, is_ranked) &&
           std::ranges::all_of(node.outputs, is_ranked);
  }

  Trouble follow_loop(const Node& node) {
    const LoopPorts& ports = *node.loop;
    for (std::uint32_t i = 0; i < ports.first_captured_input(); ++i)
      if (flow(node.inputs[i]).kind != Kind::same)
        return Refusal("the number of its steps depends on the batch");
    const ir::Region& body = module_.region(node.regions[0]);
    for (std::uint32_t i = 0; i < ports.argument_count(); ++i) {
      const ValueId operand = node.inputs[ports.first_captured_input() + i];
      flows_[body.args[i].index] = flow(operand);
      if (i < ports.captured + ports.carried || !along(operand)) continue;
      const ir::ScannedPort& port = ports.scanned[i - ports.captured - ports.carried];
      const int axis = flow(operand).axis;
      if (axis == port.axis) return Refusal("it walks along the axis of the batch");
      set_axis(body.args[i], axis - (port.squeeze && axis > port.axis ? 1 : 0));
    }
    if (Trouble trouble = follow_steps(node)) return trouble;
    return is_changed_ ? Trouble() : leave_loop(node);
  }

  Trouble follow_steps(const Node& node) {
    const LoopPorts& ports = *node.loop;
    const ir::Region& body = module_.region(node.regions[0]);
    if (Trouble trouble = follow_region(node.regions[0])) return trouble;
    for (std::uint32_t i = 0; i < ports.carried && !is_changed_; ++i) {
      const ValueId argument = body.args[ports.captured + i];
      const ValueId next = body.yields[ports.first_carried_yield() + i];
      if (flow(argument).kind == flow(next).kind && flow(argument).axis == flow(next).axis)
        continue;
      if (along(argument) || !along(next))
        return Refusal("a value that it carries does not keep the axis of the batch");
      const ValueId operand = node.inputs[ports.first_carried_input() + i];
      if (!give_axis(operand, flow(next).axis))
        return Refusal("a value that it carries begins without the axis of the batch");
    }
    return {};
  }

  /// Gives a state the axis that its sizes did not show. Returns false for any other value.
  bool give_axis(ValueId operand, int axis) {
    const ir::Value& value = module_.value(operand);
    const bool is_argument = !value.producer.valid() && value.region == module_.top();
    const auto is_own = [&](const ir::State& state) { return state.input == value.index; };
    if (!is_argument || arguments_[value.index] || std::ranges::none_of(module_.states, is_own))
      return false;
    arguments_[value.index] = axis;
    return is_changed_ = true;
  }

  Trouble leave_loop(const Node& node) {
    const LoopPorts& ports = *node.loop;
    const ir::Region& body = module_.region(node.regions[0]);
    if (ports.has_keep_going && flow(body.yields[0]).kind != Kind::same)
      return Refusal("the number of its steps depends on the batch");
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId yield = body.yields[ports.first_carried_yield() + i];
      if (holds_count(yield)) return Refusal("it returns the size of the batch");
      if (i < ports.carried || !along(yield)) {
        flows_[node.outputs[i].index] = flow(yield);
        continue;
      }
      const ir::StackedPort& port = ports.stacked[i - ports.carried];
      const int axis = flow(yield).axis;
      if (!port.insert && axis == port.axis)
        return Refusal("it joins rows along the axis of the batch");
      set_axis(node.outputs[i], axis + (port.insert && axis >= port.axis ? 1 : 0));
    }
    return {};
  }

  Trouble follow_branch(const Node& node) {
    if (flow(node.inputs[0]).kind != Kind::same)
      return Refusal("its condition depends on the batch");
    std::vector<std::vector<StepFlow>> results;
    for (const RegionId id : node.regions) {
      const ir::Region& region = module_.region(id);
      for (std::size_t i = 0; i < region.args.size(); ++i)
        flows_[region.args[i].index] = flow(node.inputs[i + 1]);
      if (Trouble trouble = follow_region(id)) return trouble;
      if (is_changed_) return {};
      std::vector<StepFlow>& result = results.emplace_back();
      for (const ValueId yield : region.yields) result.push_back(flow(yield));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const StepFlow &a = results[0][i], &b = results[1][i];
      if (a.kind != b.kind || a.axis != b.axis)
        return Refusal("only one of its branches keeps the axis of the batch");
      flows_[node.outputs[i].index] = a;
    }
    return {};
  }

  /// Operands of layers: the sequence, weights, biases, lengths, initial states, peepholes.
  Trouble follow_layer(const Node& node) {
    const bool batch_first = attr_of(node, "layout").integer() == 1;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const std::optional<int> wanted = i == layers::kX         ? std::optional(batch_first ? 0 : 1)
                                        : i == layers::kLengths ? std::optional(0)
                                        : layers::is_state(node, i)
                                            ? std::optional(batch_first ? 0 : 1)
                                            : std::nullopt;
      const StepFlow& found = flow(node.inputs[i]);
      if (wanted && found.kind == Kind::same && give_axis(node.inputs[i], *wanted)) return {};
      if (found.kind != (wanted ? Kind::along : Kind::same) || (wanted && found.axis != *wanted))
        return Refusal(fmt::format("its operand {} has the axis of the batch elsewhere",
                                   module_.describe(node.inputs[i])));
    }
    for (std::size_t i = 1 + node.op->layer_states; i < node.outputs.size(); ++i)
      if (uses_[node.outputs[i].index] > 0) return Refusal("it returns its gates");
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      set_axis(node.outputs[i], batch_first ? 0 : i == 0 ? 2 : 1);
    return {};
  }

  /// Whether every state has its rows where its next value does.
  Trouble check_states() {
    const ir::Region& top = module_.region(module_.top());
    for (const ir::State& state : module_.states) {
      const ValueId next = top.yields[state.output];
      std::optional<int>& axis = arguments_[state.input];
      if (axis == axis_of(next) && !holds_count(next)) continue;
      if (axis || !along(next))
        return Refusal(fmt::format("'{}' does not keep the axis of the batch", state.name));
      axis = flow(next).axis;
      is_changed_ = true;
      return {};
    }
    return {};
  }

  const Module& module_;
  const Dim batch_;
  LaneAxisList arguments_;  ///< of the top region
  tensor::DimTable dims_;
  const std::vector<std::uint32_t> uses_;  ///< by ValueId
  const std::vector<bool> read_;           ///< by ValueId, of the top region
  std::vector<StepFlow> flows_;            ///< by ValueId
  bool is_changed_ = false;                ///< an axis in arguments_ is new: begin again
};

}  // namespace

std::variant<LaneAxes, Refusal> follow_lanes(const Module& module, Dim batch,
                                             std::vector<std::optional<int>> axes) {
  return LaneFollower(module, batch, std::move(axes)).follow();
}

}  // namespace scanloom::passes
