#include "passes/streaming/padded_form.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "ir/infer.h"
#include "ops/lift_rules.h"
#include "ops/ops.h"
#include "passes/rewrite/layer_operands.h"
#include "passes/rewrite/ports.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using tensor::Tensor;

ValueId scalar(ir::Builder& builder, std::int64_t value) {
  return builder.constant(Tensor::scalar<std::int64_t>(value));
}

/// Returns 0, 1, 2 ... for each element of an axis.
Expected<ValueId> numbers_along(ir::Builder& builder, ValueId value, std::int64_t axis) {
  SCANLOOM_TRY(const ValueId count, builder.op(ops::dim_op, {value}, {{"axis", axis}}));
  return builder.op(ops::range_op, {scalar(builder, 0), count, scalar(builder, 1)});
}

/// Returns the value with an axis in reverse order.
Expected<ValueId> reversed(ir::Builder& builder, ValueId value, std::int64_t axis) {
  constexpr std::int64_t kBeforeFirst = -std::numeric_limits<std::int64_t>::max();
  return builder.op(ops::slice_op,
                    {value, ops::list_of(builder, {-1}), ops::list_of(builder, {kBeforeFirst}),
                     ops::list_of(builder, {axis}), ops::list_of(builder, {-1})});
}

/// Returns the activations of a layer with those of its second direction first.
std::string swapped_halves(const std::string& activations) {
  const auto count = std::ranges::count(activations, ',') + 1;
  std::size_t middle = 0;
  for (std::ptrdiff_t i = 0; i < count / 2; ++i) middle = activations.find(',', middle) + 1;
  return activations.substr(middle) + "," + activations.substr(0, middle - 1);
}

/// Rewrites the nodes along the steps in place.
class Padder {
 public:
  Padder(Module& module, const PaddedFlow& flow) : module_(module), flow_(flow) {
    length_ = module_.add_argument(module_.top(), Type::scalar(DType::i64), unused_name());
  }

  Expected<void> pad() {
    Rewriter rewriter(module_);
    SCANLOOM_TRY(const Change change,
                 rewriter.sweep([&](Rewriter& at, NodeId id) { return rewrite(at, id); }));
    (void)change;
    return ir::infer_types(module_);
  }

 private:
  [[nodiscard]] std::string unused_name() const {
    std::string name = "length";
    const auto is_taken = [&](ValueId arg) { return module_.value(arg).name == name; };
    while (std::ranges::any_of(module_.region(module_.top()).args, is_taken)) name += "'";
    return name;
  }

  Expected<bool> rewrite(Rewriter& rewriter, NodeId id) {
    const auto last = std::ranges::find(flow_.lasts, id, &PaddedLast::node);
    if (last != flow_.lasts.end()) return pick_last(rewriter, *last);
    if (std::ranges::find(flow_.reversals, id) != flow_.reversals.end()) {
      SCANLOOM_TRY(module_.node(id).inputs[1],
                   lengths_inside(rewriter.build(), module_.node(id).inputs[1]));
      return false;
    }
    const auto walk = std::ranges::find(flow_.walks, id, &PaddedWalk::node);
    if (walk == flow_.walks.end()) return false;
    if (module_.node(id).op != &ir::loop_op) return end_layer(rewriter, id, walk->order);
    SCANLOOM_CHECK_OK(rest_loop(rewriter.build(), id, walk->order));
    return false;
  }

  /// Returns the length of a node's only row. Lengths of its own stay, as far as they are inside
  /// the sequence; others fail the run, as they do without padding. `own`: invalid: none.
  Expected<ValueId> lengths_inside(ir::Builder& build, ValueId own) {
    SCANLOOM_TRY(const ValueId lengths,
                 build.op(ops::unsqueeze_op, {length_}, {{"axes", std::vector<std::int64_t>{0}}}));
    if (!own.valid()) return cast(build, lengths, DType::i32);
    const DType dtype = module_.value(own).type.dtype;
    SCANLOOM_TRY(const ValueId wide, cast(build, own, DType::i64));
    SCANLOOM_TRY(const ValueId is_outside, build.op(ops::less_op, {lengths, wide}));
    SCANLOOM_TRY(const ValueId inside,
                 build.op(ops::where_op, {is_outside, scalar(build, -1), wide}));
    return cast(build, inside, dtype);
  }

  /// Gives a layer the length of its only row. One whose sequence is in reverse order walks the
  /// other way, along the sequence as it was, whose padding is at the end.
  Expected<bool> end_layer(Rewriter& rewriter, NodeId id, StepOrder order) {
    const Node node = module_.node(id);  // by value: adding nodes may move it
    ir::Builder& build = rewriter.build();
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max(inputs.size(), layers::kLengths + 1));
    SCANLOOM_TRY(inputs[layers::kLengths], lengths_inside(build, inputs[layers::kLengths]));
    std::vector<ir::NamedAttr> attrs = attrs_of(node);
    const bool is_backward = order == StepOrder::backward;
    if (is_backward) SCANLOOM_CHECK_OK(turn_operands(build, node, inputs, attrs));
    SCANLOOM_TRY(const NodeId made,
                 build.node(*node.op, std::move(inputs), std::move(attrs), node.outputs.size()));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      ValueId output = module_.node(made).outputs[i];
      if (is_backward) {
        SCANLOOM_TRY(output, turned_result(build, node, i, output));
      }
      module_.value(output).name = module_.value(node.outputs[i]).name;
      rewriter.replace(node.outputs[i], output);
    }
    return true;
  }

  static bool is_batch_first(const Node& layer) { return attr_of(layer, "layout").integer() == 1; }
  static bool is_bidirectional(const Node& layer) {
    return attr_of(layer, "direction").text() == "bidirectional";
  }

  /// Turns the sequence, and the layer's direction; two directions change places.
  static Expected<void> turn_operands(ir::Builder& build, const Node& layer,
                                      std::vector<ValueId>& inputs,
                                      std::vector<ir::NamedAttr>& attrs) {
    const bool has_both = is_bidirectional(layer);
    SCANLOOM_TRY(inputs[0], reversed(build, inputs[0], is_batch_first(layer) ? 1 : 0));
    for (std::size_t i = 1; i < inputs.size() && has_both; ++i) {
      if (i == layers::kLengths || !inputs[i].valid()) continue;
      const bool is_state = layers::is_state(layer, i);
      SCANLOOM_TRY(inputs[i],
                   reversed(build, inputs[i], is_state && is_batch_first(layer) ? 1 : 0));
    }
    for (ir::NamedAttr& attr : attrs) {
      if (attr.name == "direction" && !has_both)
        attr.value = attr.value.text() == "forward" ? "reverse" : "forward";
      if (attr.name == "activations" && has_both && attr.value.present())
        attr.value = swapped_halves(attr.value.text());
    }
    return {};
  }

  /// Returns what result `index` of the layer is, of what it is of the turned one. A layer with
  /// lanes has no results after the states.
  static Expected<ValueId> turned_result(ir::Builder& build, const Node& layer, std::size_t index,
                                         ValueId made) {
    const bool batch_first = is_batch_first(layer);
    if (index == 0) {
      SCANLOOM_TRY(made, reversed(build, made, batch_first ? 1 : 0));
    }
    if (!is_bidirectional(layer) || index > layer.op->layer_states) return made;
    const int axis = index == 0 ? (batch_first ? 2 : 1) : (batch_first ? 1 : 0);
    return reversed(build, made, axis);
  }

  Expected<ValueId> cast(ir::Builder& build, ValueId value, DType dtype) const {
    if (module_.value(value).type.dtype == dtype) return value;
    return build.op(ops::cast_op, {value}, {{"to", dtype}});
  }

  /// Keeps what the loop carries while its steps are outside of the sequence.
  Expected<void> rest_loop(ir::Builder& build, NodeId id, StepOrder order) const {
    const std::uint32_t carried = module_.node(id).loop->carried;
    if (carried == 0) return {};
    const std::size_t first = module_.node(id).loop->first_scanned_input();
    const std::int64_t axis = module_.node(id).loop->scanned[0].axis;
    SCANLOOM_TRY(const ValueId numbers, numbers_along(build, module_.node(id).inputs[first], axis));
    const bool is_backward = order == StepOrder::backward;
    const ir::ScannedPort port{.start = is_backward ? -1 : 0, .stride = is_backward ? -1 : 1};
    const ValueId number = add_scanned(module_, id, {{numbers}}, {{port}})[0];
    const ValueId length = add_captured(module_, id, {{length_}})[0];
    const ir::LoopPorts ports = *module_.node(id).loop;
    const ir::RegionId body = module_.node(id).regions[0];
    ir::Builder inside(module_, body);
    inside.set_location(module_.node(id).location);
    SCANLOOM_TRY(const ValueId is_inside, inside.op(ops::less_op, {number, length}));
    for (std::uint32_t i = 0; i < carried; ++i) {
      const ValueId before = module_.region(body).args[ports.captured + i];
      const std::size_t yield = ports.first_carried_yield() + i;
      SCANLOOM_TRY(
          const ValueId next,
          inside.op(ops::where_op, {is_inside, module_.region(body).yields[yield], before}));
      module_.region(body).yields[yield] = next;
    }
    return {};
  }

  /// Replaces the node by a loop that carries the element of the last step inside the sequence.
  Expected<bool> pick_last(Rewriter& rewriter, const PaddedLast& from) {
    const Node node = module_.node(from.node);  // by value: adding nodes may move it
    ir::Builder& build = rewriter.build();
    Type element = module_.value(node.inputs[0]).type;
    const std::int64_t axis = from.axis;
    element.dims.erase(element.dims.begin() + axis);
    SCANLOOM_TRY(Tensor zeros, Tensor::zeros(element.dtype, element.shape()));
    const NodeId loop = module_.add_node(build.region(), ir::loop_op,
                                         {build.constant(std::move(zeros)), node.inputs[0]}, {},
                                         {element}, node.location);
    module_.node(loop).loop =
        ir::LoopPorts{.fixed_sizes = true, .carried = 1, .scanned = {{.axis = axis}}};
    const ir::RegionId body = module_.add_region(loop, "last");
    module_.node(loop).regions = {body};
    module_.add_argument(body, element);
    const ValueId slice = module_.add_argument(body, element);
    module_.region(body).yields = {slice};
    SCANLOOM_CHECK_OK(rest_loop(build, loop, StepOrder::forward));
    // The loop was added before the numbers that it scans.
    std::vector<NodeId>& nodes = module_.region(build.region()).nodes;
    const auto at = std::ranges::find(nodes, loop);
    std::rotate(at, at + 1, nodes.end());
    ValueId last = module_.node(loop).outputs[0];
    if (module_.value(node.outputs[0]).type.rank() > element.rank()) {
      SCANLOOM_TRY(
          last, build.op(ops::unsqueeze_op, {last}, {{"axes", std::vector<std::int64_t>{axis}}}));
    }
    rewriter.replace(node.outputs[0], last);
    return true;
  }

  Module& module_;
  const PaddedFlow& flow_;
  ValueId length_;
};

/// Returns the open sizes of the inputs.
std::vector<Dim> open_sizes(const Module& module) {
  std::vector<Dim> found;
  for (const ValueId arg : module.region(module.top()).args)
    for (const Dim size : module.value(arg).type.dims)
      if (!size.is_constant() && std::ranges::find(found, size) == found.end())
        found.push_back(size);
  return found;
}

/// Names an input without declared sizes, and the first node that reads it.
std::optional<Refusal> undeclared_input(const Module& module) {
  const auto is_undeclared = [&](ValueId value) {
    return value.valid() && !module.value(value).producer.valid() &&
           module.value(value).region == module.top() && module.value(value).type.is_tensor() &&
           !module.value(value).type.ranked;
  };
  for (const NodeId id : module.region(module.top()).nodes) {
    const auto input = std::ranges::find_if(module.node(id).inputs, is_undeclared);
    if (input != module.node(id).inputs.end())
      return Refusal(
          fmt::format("the axes of its input {} are not declared", module.describe(*input)), id);
  }
  return std::nullopt;
}

/// Returns why none of several open sizes, or no size, is the number of steps: the first node that
/// computes across one of them.
Refusal no_single_size(const Module& module, const std::vector<Dim>& sizes) {
  if (sizes.empty())
    if (std::optional<Refusal> refusal = undeclared_input(module)) return *std::move(refusal);
  for (const Dim size : sizes) {
    const auto followed = follow_padded(module, size);
    const auto* refusal = std::get_if<Refusal>(&followed);
    if (refusal != nullptr && refusal->node.valid()) return *refusal;
  }
  return Refusal(sizes.empty() ? "no size of the inputs is open"
                               : "several sizes of the inputs are open");
}

}  // namespace

std::variant<PaddedForm, Refusal> padded_form(const Module& module) {
  const std::vector<Dim> sizes = open_sizes(module);
  if (sizes.size() != 1) return no_single_size(module, sizes);
  std::variant<PaddedFlow, Refusal> followed = follow_padded(module, sizes[0]);
  if (auto* refusal = std::get_if<Refusal>(&followed)) return std::move(*refusal);
  const PaddedFlow& flow = std::get<PaddedFlow>(followed);
  PaddedForm form{.module = module, .arguments = {}, .results = {}, .orders = {}};
  const ir::Region& top = module.region(module.top());
  for (const ValueId argument : top.args) form.arguments.push_back(flow.flows[argument.index]);
  for (const ValueId yield : top.yields) {
    form.results.push_back(flow.flows[yield.index]);
    form.orders.push_back(flow.orders[yield.index]);
  }
  if (const Expected<void> padded = Padder(form.module, flow).pad(); !padded)
    return Refusal(padded.error().message());
  return form;
}

}  // namespace scanloom::passes
