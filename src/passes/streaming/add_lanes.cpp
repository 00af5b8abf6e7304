#include "passes/streaming/add_lanes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "ir/infer.h"
#include "ir/node_attr.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/lifting/lift.h"
#include "passes/rewrite/layer_operands.h"
#include "passes/streaming/lane_marks.h"
#include "passes/streaming/stream_form.h"

namespace scanloom::passes {
namespace {

using ir::Builder;
using ir::Dim;
using ir::Lifted;
using ir::LoopPorts;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::StepFlow;
using ir::Type;
using ir::ValueId;
using Operands = std::vector<Lifted>;
using Kind = StepFlow::Kind;

/// A size that no argument has.
Dim lanes_of(Module& module) {
  std::string name = "lanes";
  const auto is_taken = [&] {
    const Dim size = module.dims.symbol(name);
    return std::ranges::any_of(module.region(module.top()).args, [&](ValueId arg) {
      const std::vector<Dim>& dims = module.value(arg).type.dims;
      return std::ranges::find(dims, size) != dims.end();
    });
  };
  while (is_taken()) name += "'";
  return module.dims.symbol(name);
}

const Lifted& first_with_lanes(const Operands& operands) {
  return *std::ranges::find_if(operands, &Lifted::is_sequence);
}

[[nodiscard]] Error refuse(std::string why) { return Error(Code::unsupported, std::move(why)); }

/// Next to the steps if these come first, so that sequences are copied into lanes row by row;
/// otherwise first.
int axis_of_lanes(const Type& type, const StepFlow& flow) {
  if (flow.kind != Kind::along) return 0;
  const auto before = type.dims.begin() + flow.axis;
  return std::all_of(type.dims.begin(), before, [](Dim size) { return size == Dim(1); })
             ? flow.axis + 1
             : 0;
}

/// Returns a view of a value of one sequence, for its sizes: there is always a first lane.
Expected<ValueId> one_lane(Builder& builder, const Lifted& value) {
  const ValueId first = builder.constant(tensor::Tensor::scalar<std::int64_t>(0));
  return builder.op(ops::gather_op, {value.value, first}, {{"axis", value.axis}});
}

/// A value that a loop carries has the lanes first, before and after each step.
Expected<Lifted> carried(Builder& builder, const Lifted& value, const Lifted& like) {
  if (value.is_sequence()) return ops::at_front(builder, value);
  return repeated(builder, value.value, like);
}

/// Moves the axis of a stack past the lanes of its rows; returns that of the lanes.
int stack_with_lanes(ir::StackedPort& port, const Lifted& row) {
  const bool before = port.insert ? port.axis <= row.axis : port.axis < row.axis;
  if (!before) ++port.axis;
  return row.axis + (port.insert && before ? 1 : 0);
}

/// Returns the value with lanes instead of its batch of one row.
Expected<ValueId> as_batch(Builder& builder, Lifted value, int batch, const Lifted& like) {
  if (!value.is_sequence()) {
    SCANLOOM_TRY(value, repeated(builder, value.value, like));
  }
  SCANLOOM_TRY(const ValueId lanes, with_steps_along(builder, value, batch));
  return builder.op(ops::squeeze_op, {lanes}, {{"axes", std::vector<std::int64_t>{batch + 1}}});
}

/// A layer whose batch is one row: the lanes become its batch. Operands: the sequence, weights,
/// biases, lengths, initial states, peepholes.
Expected<Operands> layer_with_lanes(const Node& node, const Operands& operands, Builder& builder,
                                    const std::vector<std::uint32_t>& uses) {
  const bool batch_first = attr_of(node, "layout").integer() == 1;
  const int batch = batch_first ? 0 : 1;
  const std::size_t states = node.op->layer_states;
  const Type& x = builder.module().value(node.inputs[0]).type;
  if (!x.ranked || x.rank() != 3 || x.dims[static_cast<std::size_t>(batch)] != Dim(1))
    return refuse("its batch is not one row");
  for (std::size_t i = 1 + states; i < node.outputs.size(); ++i)
    if (uses[node.outputs[i].index] > 0) return refuse("it returns its gates");
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Lifted operand = operands[i];
    const bool has_rows = i == layers::kX || i == layers::kLengths || layers::is_state(node, i);
    if (has_rows && operand.value.valid()) {
      SCANLOOM_TRY(operand.value, as_batch(builder, operand, i == layers::kLengths ? 0 : batch,
                                           first_with_lanes(operands)));
    } else if (operand.is_sequence()) {
      return refuse(fmt::format("its operand {} depends on the sequence",
                                builder.module().describe(node.inputs[i])));
    }
    inputs.push_back(operand.value);
  }
  builder.set_location(node.location);
  SCANLOOM_TRY(const NodeId made, builder.node(*node.op, std::move(inputs), ops::attrs_but(node),
                                               node.outputs.size()));
  Operands results(node.outputs.size());
  for (std::size_t i = 0; i <= states && i < node.outputs.size(); ++i) {
    const int axis = batch_first ? 0 : i == 0 ? 2 : 1;
    SCANLOOM_TRY(const ValueId rows,
                 ops::with_axes_of_1(builder, builder.module().node(made).outputs[i], axis + 1, 1));
    results[i] = {rows, axis};
  }
  return results;
}

/// A reversal by lengths whose batch is one row: the lanes become its batch.
Expected<Lifted> reversal_with_lanes(const Node& node, const Operands& operands, Builder& builder) {
  const Type& x = builder.module().value(node.inputs[0]).type;
  int batch = static_cast<int>(attr_of(node, "batch_axis").integer());
  if (batch < 0) batch += x.rank();
  if (!x.ranked || x.dims[static_cast<std::size_t>(batch)] != Dim(1))
    return refuse("its batch is not one row");
  const Lifted& like = first_with_lanes(operands);
  SCANLOOM_TRY(const ValueId rows, as_batch(builder, operands[0], batch, like));
  SCANLOOM_TRY(const ValueId lengths, as_batch(builder, operands[1], 0, like));
  builder.set_location(node.location);
  SCANLOOM_TRY(const ValueId made, builder.op(*node.op, {rows, lengths}, ops::attrs_but(node)));
  SCANLOOM_TRY(const ValueId value, ops::with_axes_of_1(builder, made, batch + 1, 1));
  return Lifted{value, batch};
}

/// Writes the nodes of a form again, with lanes, after those that are there; then removes these.
class LaneAdder {
 public:
  LaneAdder(const Module& form, const std::vector<StepFlow>& results, std::vector<bool> own)
      : module_(form),
        results_(results),
        own_(std::move(own)),
        marks_(mark_lanes(form, own_)),
        read_(values_read(form)),
        uses_(ir::count_uses(form)),
        sizes_(form),
        lanes_(lanes_of(module_)) {}

  std::variant<LanedForm, Refusal> add(const std::vector<StepFlow>& arguments) {
    Expected<LanedForm> made = make(arguments);
    if (made) return *std::move(made);
    return Refusal(made.error().text(), at_);
  }

 private:
  [[nodiscard]] Type with_lanes(const Type& type, int axis) const {
    return axis == Lifted::kSame ? type : sequence_type(type, axis, lanes_);
  }
  [[nodiscard]] bool is_marked(ValueId value) const { return marks_[value.index]; }

  Expected<LanedForm> make(const std::vector<StepFlow>& arguments) {
    const RegionId top = module_.top();
    const std::size_t nodes = module_.region(top).nodes.size();
    const std::vector<ValueId> args = module_.region(top).args;
    LaneAxes axes;
    Operands made;
    for (std::size_t i = 0; i < args.size(); ++i) {
      const int axis =
          own_[i] ? axis_of_lanes(module_.value(args[i]).type, arguments[i]) : Lifted::kSame;
      made.push_back(add_argument(top, args[i], axis));
      axes.arguments.push_back(own_[i] ? std::optional(axis) : std::nullopt);
    }
    Builder builder(module_, top);
    SCANLOOM_CHECK_OK(make_nodes(top, builder));
    at_ = {};
    SCANLOOM_CHECK_OK(make_results(builder, first_with_lanes(made), axes));
    ir::Region& region = module_.region(top);
    region.nodes.erase(region.nodes.begin(),
                       region.nodes.begin() + static_cast<std::ptrdiff_t>(nodes));
    region.args.erase(region.args.begin(),
                      region.args.begin() + static_cast<std::ptrdiff_t>(args.size()));
    for (std::size_t i = 0; i < region.args.size(); ++i)
      module_.value(region.args[i]).index = static_cast<std::uint32_t>(i);
    for (ir::State& state : module_.states) state.initial = {};
    module_.declared_outputs.clear();
    LanedForm form{ir::compact(module_), std::move(axes)};
    SCANLOOM_CHECK_OK(ir::infer_types(form.module));
    return form;
  }

  /// Adds the counterpart of an argument; kSame: it has no lanes.
  Lifted add_argument(RegionId region, ValueId old, int axis) {
    const ir::Value value = module_.value(old);  // by value: adding arguments may move it
    return map_[old] = {module_.add_argument(region, with_lanes(value.type, axis), value.name),
                        axis};
  }

  Expected<void> make_results(Builder& builder, const Lifted& like, LaneAxes& axes) {
    const std::vector<ValueId> yields = module_.region(module_.top()).yields;
    for (std::size_t i = 0; i < yields.size(); ++i) {
      Lifted result = map_.at(yields[i]);
      const bool is_state = i >= results_.size();
      if (!result.is_sequence() && (is_state || results_[i].kind != Kind::same)) {
        SCANLOOM_TRY(result, repeated(builder, result.value, like));
      }
      if (is_state) {
        SCANLOOM_TRY(result, ops::at_front(builder, result));
      }
      module_.region(module_.top()).yields[i] = result.value;
      axes.results.push_back(result.is_sequence() ? std::optional(result.axis) : std::nullopt);
    }
    return {};
  }

  Expected<void> make_nodes(RegionId from, Builder& builder) {
    // What only initial values are computed from is left in a stream form.
    const auto is_read = [&](ValueId value) { return read_[value.index]; };
    std::vector<NodeId> nodes = module_.region(from).nodes;
    if (from == module_.top())
      std::erase_if(nodes, [&](NodeId id) {
        return std::ranges::none_of(module_.node(id).outputs, is_read);
      });
    for (const NodeId id : nodes) {
      at_ = id;
      SCANLOOM_CHECK_OK(make_node(id, builder));
    }
    return {};
  }

  Expected<void> make_node(NodeId id, Builder& builder) {
    const Node node = module_.node(id);  // by value: adding nodes may move it
    Operands operands;
    for (const ValueId input : node.inputs)
      operands.push_back(input.valid() ? map_.at(input) : Lifted{});
    if (std::ranges::none_of(operands, &Lifted::is_sequence)) return copy(id, operands, builder);
    if (node.op == &ops::identity_op) {
      map_[node.outputs[0]] = operands[0];
      return {};
    }
    if (node.op == &ir::loop_op) return make_loop(id, operands, builder);
    if (node.op == &ir::branch_op) return refuse("its regions depend on the sequence");
    if (node.op->layer_states > 0) {
      SCANLOOM_TRY(const Operands made, layer_with_lanes(node, operands, builder, uses_));
      return set_results(node, made);
    }
    if (node.op == &ops::reverse_sequence_op) {
      SCANLOOM_TRY(const Lifted made, reversal_with_lanes(node, operands, builder));
      return set_results(node, {made});
    }
    if (node.op->reads_only_sizes()) {
      SCANLOOM_TRY(operands[0].value, one_lane(builder, operands[0]));
      operands[0].axis = Lifted::kSame;
      if (std::ranges::none_of(operands, &Lifted::is_sequence)) return copy(id, operands, builder);
    }
    std::vector<bool> varies;
    for (const Lifted& operand : operands) varies.push_back(operand.is_sequence());
    // The index is the same for all lanes; if it is outside, the run fails and its sequences run
    // alone, which gives the error.
    const bool picks = node.op == &ops::gather_op && varies[0] && !varies[1] &&
                       ops::attribute_axis(module_, node).has_value();
    if (!picks && !can_lift(module_, sizes_, id, varies))
      return refuse(fmt::format("'{}' has no form for many sequences at once", node.op->name));
    SCANLOOM_TRY(const Operands results, lift(builder, id, operands));
    return set_results(node, results);
  }

  /// Results that nothing reads are invalid.
  Expected<void> set_results(const Node& node, const Operands& results) {
    for (std::size_t i = 0; i < results.size(); ++i)
      if (results[i].value.valid()) map_[node.outputs[i]] = results[i];
    return {};
  }

  Expected<void> copy(NodeId id, const Operands& operands, const Builder& builder) {
    const NodeId made =
        ir::clone_node_into(module_, id, module_, builder.region(), ops::values_of(operands));
    for (std::size_t i = 0; i < module_.node(id).outputs.size(); ++i)
      map_[module_.node(id).outputs[i]] = {module_.node(made).outputs[i]};
    return {};
  }

  Expected<void> make_loop(NodeId id, const Operands& operands, Builder& builder) {
    const Node node = module_.node(id);  // by value: adding nodes may move it
    LoopPorts ports = *node.loop;
    const ir::Region from = module_.region(node.regions[0]);
    const std::uint32_t first = ports.first_captured_input();
    const auto decides = [](const Lifted& operand) { return operand.is_sequence(); };
    if (std::any_of(operands.begin(), operands.begin() + first, decides) ||
        (ports.has_keep_going && is_marked(from.yields[0])))
      return refuse("the number of its steps depends on the elements of a sequence");
    std::vector<ValueId> inputs;
    std::vector<int> axes;  // of the lanes in the body's arguments
    for (std::size_t i = 0; i < operands.size(); ++i) {
      Lifted operand = operands[i];
      int axis = operand.axis;
      if (i >= ports.first_scanned_input() && operand.is_sequence()) {
        ir::ScannedPort& port = ports.scanned[i - ports.first_scanned_input()];
        port.axis = ops::axis_in_sequence(static_cast<int>(port.axis), operand.axis);
        axis -= port.squeeze && axis > port.axis ? 1 : 0;
      } else if (i >= ports.first_carried_input() && i < ports.first_scanned_input() &&
                 is_marked(from.args[i - first])) {
        SCANLOOM_TRY(operand, carried(builder, operand, first_with_lanes(operands)));
        axis = operand.axis;
      }
      inputs.push_back(operand.value);
      if (i >= first) axes.push_back(axis);
    }
    std::vector<Type> types;  // completed below
    for (const ValueId output : node.outputs) types.push_back(module_.value(output).type);
    const NodeId made = module_.add_node(builder.region(), ir::loop_op, std::move(inputs), {},
                                         std::move(types), node.location);
    module_.node(made).loop = ports;
    const RegionId body = module_.add_region(made, from.name);
    module_.node(made).regions = {body};
    Operands args;
    for (std::size_t i = 0; i < from.args.size(); ++i)
      args.push_back(add_argument(body, from.args[i], axes[i]));
    Builder inside(module_, body);
    SCANLOOM_CHECK_OK(make_nodes(node.regions[0], inside));
    at_ = id;
    return end_loop(node, made, inside, args);
  }

  /// `args`: of the new body.
  Expected<void> end_loop(const Node& node, NodeId made, Builder& inside, const Operands& args) {
    LoopPorts ports = *module_.node(made).loop;
    const std::vector<ValueId> from = module_.region(node.regions[0]).yields;
    std::vector<ValueId> yields;
    for (std::size_t i = 0; i < from.size(); ++i) {
      Lifted row = map_.at(from[i]);
      if (i < ports.first_carried_yield()) {
        yields.push_back(row.value);
        continue;
      }
      const std::size_t output = i - ports.first_carried_yield();
      int axis = Lifted::kSame;
      if (output >= ports.carried) {
        if (row.is_sequence()) axis = stack_with_lanes(ports.stacked[output - ports.carried], row);
      } else if (args[ports.captured + output].is_sequence()) {
        SCANLOOM_TRY(row, carried(inside, row, first_with_lanes(args)));
        axis = row.axis;
      }
      yields.push_back(row.value);
      const ValueId result = module_.node(made).outputs[output];
      module_.value(result).type = with_lanes(module_.value(node.outputs[output]).type, axis);
      module_.value(result).name = module_.value(node.outputs[output]).name;
      map_[node.outputs[output]] = {result, axis};
    }
    module_.region(inside.region()).yields = std::move(yields);
    module_.node(made).loop = std::move(ports);
    return {};
  }

  Module module_;
  const std::vector<StepFlow>& results_;
  const std::vector<bool> own_;            ///< by argument: whether it has lanes
  const std::vector<bool> marks_;          ///< by ValueId: whether it has lanes
  const std::vector<bool> read_;           ///< by ValueId, of the top region
  const std::vector<std::uint32_t> uses_;  ///< by ValueId
  const KnownSizes sizes_;
  const Dim lanes_;
  NodeId at_;                      ///< the node that is being written again
  std::map<ValueId, Lifted> map_;  ///< by value of the form
};

}  // namespace

std::variant<LanedForm, Refusal> add_lanes(const Module& form,
                                           const std::vector<StepFlow>& arguments,
                                           const std::vector<StepFlow>& results,
                                           const std::vector<bool>& common) {
  const std::vector<ValueId>& args = form.region(form.top()).args;
  std::vector<bool> own;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto is_own = [&](const ir::State& state) { return state.input == i; };
    const bool must = arguments[i].kind == Kind::along || std::ranges::any_of(form.states, is_own);
    const Type& type = form.value(args[i]).type;
    const bool can = type.is_tensor() && type.ranked && type.rank() < tensor::kMaxRank;
    if (must && !can)
      return Refusal(fmt::format("{} cannot have one more axis", form.describe(args[i])));
    own.push_back(must || (can && !common[i]));
  }
  if (std::ranges::find(own, true) == own.end()) return Refusal("no input has steps");
  return LaneAdder(form, results, std::move(own)).add(arguments);
}

}  // namespace scanloom::passes
