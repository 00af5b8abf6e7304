#include "passes/streaming/padded_form.h"

#include <algorithm>
#include <optional>

#include "ir/infer.h"
#include "ops/ops.h"
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
    const auto walk = std::ranges::find(flow_.walks, id, &PaddedWalk::node);
    if (walk == flow_.walks.end()) return false;
    if (module_.node(id).op != &ir::loop_op) return end_layer(rewriter, id);
    SCANLOOM_CHECK_OK(rest_loop(rewriter.build(), id, walk->order));
    return false;
  }

  /// Gives a layer the length of its only row. Lengths of its own stay, as far as they are inside
  /// the sequence; others fail the run, as they do without padding.
  Expected<bool> end_layer(Rewriter& rewriter, NodeId id) {
    constexpr std::size_t kLengths = 4;
    const Node node = module_.node(id);  // by value: adding nodes may move it
    ir::Builder& build = rewriter.build();
    std::vector<ValueId> inputs = node.inputs;
    inputs.resize(std::max(inputs.size(), kLengths + 1));
    SCANLOOM_TRY(ValueId lengths,
                 build.op(ops::unsqueeze_op, {length_}, {{"axes", std::vector<std::int64_t>{0}}}));
    DType dtype = DType::i32;
    if (const ValueId own = inputs[kLengths]; own.valid()) {
      dtype = module_.value(own).type.dtype;
      SCANLOOM_TRY(const ValueId wide, cast(build, own, DType::i64));
      SCANLOOM_TRY(const ValueId is_outside, build.op(ops::less_op, {lengths, wide}));
      SCANLOOM_TRY(lengths, build.op(ops::where_op, {is_outside, scalar(build, -1), wide}));
    }
    SCANLOOM_TRY(inputs[kLengths], cast(build, lengths, dtype));
    SCANLOOM_TRY(const NodeId made,
                 build.node(*node.op, std::move(inputs), attrs_of(node), node.outputs.size()));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId output = module_.node(made).outputs[i];
      module_.value(output).name = module_.value(node.outputs[i]).name;
      rewriter.replace(node.outputs[i], output);
    }
    return true;
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

/// Returns the one open size of the inputs; nullopt if there are none or several.
std::optional<Dim> open_size(const Module& module) {
  std::optional<Dim> found;
  for (const ValueId arg : module.region(module.top()).args)
    for (const Dim size : module.value(arg).type.dims) {
      if (size.is_constant() || (found && *found == size)) continue;
      if (found) return std::nullopt;
      found = size;
    }
  return found;
}

}  // namespace

std::variant<PaddedForm, Refusal> padded_form(const Module& module) {
  const std::optional<Dim> steps = open_size(module);
  if (!steps) return Refusal("not exactly one size of the inputs is open");
  std::variant<PaddedFlow, Refusal> followed = follow_padded(module, *steps);
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
