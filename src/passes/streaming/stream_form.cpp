#include "passes/streaming/stream_form.h"

#include <algorithm>
#include <set>

#include "ir/op_def.h"
#include "ir/walk.h"
#include "opmath/contraction.h"
#include "ops/ops.h"
#include "passes/lifting/step_axes.h"
#include "passes/rewrite/rewriter.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Module;
using ir::NodeId;
using ir::ValueId;

/// Returns the sizes that loops and layers walk along.
std::set<Dim> walked_sizes(const Module& module) {
  std::set<Dim> sizes;
  const auto add = [&](ValueId value, std::int64_t axis) {
    const ir::Type& type = module.value(value).type;
    if (type.ranked && axis < type.rank()) sizes.insert(type.dims[static_cast<std::size_t>(axis)]);
  };
  for (const NodeId id : module.region(module.top()).nodes) {
    const ir::Node& node = module.node(id);
    if (node.op->layer_states > 0) add(node.inputs[0], attr_of(node, "layout").integer());
    if (node.op != &ir::loop_op) continue;
    for (std::size_t i = 0; i < node.loop->scanned.size(); ++i)
      add(node.inputs[node.loop->first_scanned_input() + i], node.loop->scanned[i].axis);
  }
  return sizes;
}

/// Returns the sizes that are trip counts of loops: all that is left of a sequence whose elements
/// no step reads.
std::set<Dim> counted_sizes(const Module& module) {
  std::set<Dim> sizes;
  for (const NodeId id : module.region(module.top()).nodes) {
    const ir::Node& node = module.node(id);
    if (node.op != &ir::loop_op || !node.loop->has_trip_count) continue;
    const NodeId count = module.value(node.inputs[0]).producer;
    if (!count.valid() || module.node(count).op != &ops::dim_op) continue;
    const ir::Type& type = module.value(module.node(count).inputs[0]).type;
    const std::int64_t axis = attr_of(module.node(count), "axis").integer();
    if (type.ranked && axis >= 0 && axis < type.rank())
      sizes.insert(type.dims[static_cast<std::size_t>(axis)]);
  }
  return sizes;
}

/// Returns the sizes that products sum over, which accumulate_as_product makes from loops.
std::set<Dim> summed_sizes(const Module& module) {
  std::set<Dim> sizes;
  for (const NodeId id : module.region(module.top()).nodes) {
    const ir::Node& node = module.node(id);
    if (node.op != &ops::contract_op) continue;
    const ir::Type &a = module.value(node.inputs[0]).type, &b = module.value(node.inputs[1]).type;
    if (!a.ranked || !b.ranked) continue;
    const auto einsum = tensor::parse_einsum(node.attrs[0].text(), a.rank(), b.rank());
    for (std::size_t axis = 0; einsum && axis < a.dims.size(); ++axis)
      if (einsum->out.find(einsum->a.labels[axis]) < 0) sizes.insert(a.dims[axis]);
  }
  return sizes;
}

/// Appends those of the sizes that are open sizes of inputs, each once, in the order of the inputs.
void append_open(const Module& module, const std::set<Dim>& sizes, std::vector<Dim>& to) {
  for (const ValueId arg : module.region(module.top()).args)
    for (const Dim dim : module.value(arg).type.dims)
      if (!dim.is_constant() && sizes.contains(dim) && std::ranges::find(to, dim) == to.end())
        to.push_back(dim);
}

bool any_read(const Module& module, NodeId id, const std::vector<bool>& read) {
  return std::ranges::any_of(module.node(id).outputs,
                             [&](ValueId value) { return read[value.index]; });
}

}  // namespace

std::vector<Dim> open_walked_sizes(const Module& module) {
  std::vector<Dim> sizes;
  append_open(module, walked_sizes(module), sizes);
  append_open(module, counted_sizes(module), sizes);
  return sizes;
}

std::vector<bool> values_read(const Module& module) {
  const ir::Region& top = module.region(module.top());
  std::vector<bool> read(module.value_count());
  for (const ValueId yield : top.yields) read[yield.index] = true;
  for (auto id = top.nodes.rbegin(); id != top.nodes.rend(); ++id) {
    if (!any_read(module, *id, read)) continue;
    for (const ValueId input : module.node(*id).inputs)
      if (input.valid()) read[input.index] = true;
  }
  return read;
}

namespace {

std::vector<bool> arguments_read(const Module& module) {
  const std::vector<bool> read = values_read(module);
  std::vector<bool> result;
  for (const ValueId arg : module.region(module.top()).args) result.push_back(read[arg.index]);
  return result;
}

/// Names the first node that reads an input of an open size as a whole.
Error nothing_walks(const Module& module) {
  const auto is_open = [&](ValueId value) {
    return value.valid() && !module.value(value).producer.valid() &&
           !std::ranges::all_of(module.value(value).type.dims, &Dim::is_constant);
  };
  std::string reader;
  for (const NodeId id : module.region(module.top()).nodes) {
    const auto input = std::ranges::find_if(module.node(id).inputs, is_open);
    if (input == module.node(id).inputs.end()) continue;
    reader = fmt::format(", {} reads {} without one", module.describe(id), module.describe(*input));
    break;
  }
  Error error = fail(Code::unsupported,
                     "no loop or layer walks along an axis of open size{}, so there is nothing to "
                     "keep between pieces",
                     reader);
  if (reader.empty())
    error.note(
        "all input sizes of the model are fixed: declare the length of the sequence as '?' or by a "
        "name");
  else
    error.note("for pieces that do not depend on each other, use runs of the session");
  error.note(
      "to feed an output back as an input of the next piece, name both: states={\"input\": "
      "\"output\"}");
  return error;
}

/// Removes arguments that no result depends on, and the nodes that still read them, checks
/// included. Later arguments move up.
void drop_arguments(Module& module, std::vector<bool> dropped) {
  const std::vector<ValueId>& args = module.region(module.top()).args;
  std::vector<bool> gone(module.value_count());
  for (std::size_t i = 0; i < args.size(); ++i) gone[args[i].index] = dropped[i];
  dropped.flip();
  module.keep_arguments(module.top(), dropped);
  std::erase_if(module.region(module.top()).nodes, [&](NodeId id) {
    const ir::Node& node = module.node(id);
    const bool reads = std::ranges::any_of(
        node.inputs, [&](ValueId input) { return input.valid() && gone[input.index]; });
    if (reads)
      for (const ValueId output : node.outputs) gone[output.index] = true;
    return reads;
  });
}

/// Turns the values that loops carry into states of the module, one site after the other.
class Former {
 public:
  Former(const Module& module, const std::vector<ir::StepFlow>& flows)
      : uses_(ir::count_uses(module)), before_(arguments_read(module)) {
    const ir::Region& top = module.region(module.top());
    form_.module = module;
    form_.outputs = top.yields.size();
    for (const ValueId argument : top.args) form_.arguments.push_back(flows[argument.index]);
    for (const ValueId yield : top.yields) form_.results.push_back(flows[yield.index]);
    first_values_ = module;
  }

  void keep(const CarriedSite& site) {
    Module& module = form_.module;
    const std::string name =
        unused_name(fmt::format("state {} of {}", site.output, module.describe(site.node)));
    std::vector<ValueId>& inputs = module.node(site.node).inputs;
    if (inputs.size() <= site.input) inputs.resize(site.input + 1);
    const ValueId first = inputs[site.input];
    ir::State state{.name = name};
    if (is_argument_for_this_alone(first)) {
      state.name = module.value(first).name;
      state.input = module.value(first).index;
      module.value(first).type = site.type;  // the steps may change its sizes
    } else {
      const ValueId argument = module.add_argument(module.top(), site.type, name);
      form_.arguments.emplace_back();
      state.input = module.value(argument).index;
      module.node(site.node).inputs[site.input] = argument;
      if (const tensor::Tensor* constant = first.valid() ? constant_of(module, first) : nullptr) {
        state.initial = *constant;
      } else if (first.valid()) {
        form_.computed.push_back(module.states.size());
        computed_.push_back(first);
      }
    }
    ir::Region& top = module.region(module.top());
    state.output = static_cast<std::uint32_t>(top.yields.size());
    top.yields.push_back(module.node(site.node).outputs[site.output]);
    module.output_names.push_back(name + "'");
    module.states.push_back(std::move(state));
  }

  StreamForm finish() {
    drop_what_only_starts_read();
    if (!computed_.empty()) {
      ir::Region& top = first_values_.region(first_values_.top());
      top.yields = computed_;
      first_values_.declared_outputs.clear();
      first_values_.output_names.clear();
      for (std::size_t i = 0; i < computed_.size(); ++i)
        first_values_.output_names.push_back("first." + std::to_string(i));
      std::vector<bool> dropped = arguments_read(first_values_);
      dropped.flip();
      drop_arguments(first_values_, dropped);
      form_.initial = std::move(first_values_);
    }
    return std::move(form_);
  }

 private:
  /// Returns a name that no input or result of the model has.
  [[nodiscard]] std::string unused_name(std::string name) const {
    const ir::Region& top = form_.module.region(form_.module.top());
    const auto taken = [&] {
      return std::ranges::any_of(
                 top.args, [&](ValueId arg) { return form_.module.value(arg).name == name; }) ||
             std::ranges::find(form_.module.output_names, name + "'") !=
                 form_.module.output_names.end();
    };
    while (taken()) name += "'";
    return name;
  }

  [[nodiscard]] bool is_argument_for_this_alone(ValueId value) const {
    return value.valid() && !form_.module.value(value).producer.valid() &&
           form_.module.value(value).region == form_.module.top() && value.index < uses_.size() &&
           uses_[value.index] == 1;
  }

  /// Drops inputs that the model reads and its stream does not. States name inputs by number.
  void drop_what_only_starts_read() {
    Module& module = form_.module;
    const std::vector<bool> after = arguments_read(module);
    std::vector<bool> dropped(after.size());
    for (std::size_t i = 0; i < before_.size(); ++i) dropped[i] = before_[i] && !after[i];
    for (const ir::State& state : module.states) dropped[state.input] = false;
    std::vector<ValueId> inputs;
    for (const ir::State& state : module.states)
      inputs.push_back(module.region(module.top()).args[state.input]);
    std::size_t position = 0;
    std::erase_if(form_.arguments, [&](const ir::StepFlow&) { return dropped[position++]; });
    drop_arguments(module, dropped);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      module.states[i].input = module.value(inputs[i]).index;
  }

  std::vector<std::uint32_t> uses_;
  std::vector<bool> before_;
  StreamForm form_;
  Module first_values_;
  std::vector<ValueId> computed_;
};

}  // namespace

Expected<StreamForm> stream_form(const Module& module) {
  SCANLOOM_TRY(const StepAxes axes, streamed_axes(module));
  Former former(module, axes.flows);
  for (const CarriedSite& site : axes.sites) former.keep(site);
  return former.finish();
}

Expected<StepAxes> streamed_axes(const Module& module) {
  std::vector<Dim> sizes = open_walked_sizes(module);
  const std::size_t walked = sizes.size();
  append_open(module, summed_sizes(module), sizes);
  std::optional<Error> first_error;
  std::optional<StepAxes> without_states;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Expected<StepAxes> axes = follow_steps(module, sizes[i]);
    if (!axes) {
      if (!first_error) first_error = std::move(axes).error();
    } else if (!axes->sites.empty()) {
      return axes;
    } else if (!without_states && i < walked) {
      without_states = *std::move(axes);
    }
  }
  if (without_states) return *std::move(without_states);
  if (first_error) return *std::move(first_error);
  return nothing_walks(module);
}

}  // namespace scanloom::passes
