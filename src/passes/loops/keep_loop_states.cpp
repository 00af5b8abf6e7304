#include "passes/loops/keep_loop_states.h"

#include <algorithm>
#include <map>
#include <string>

#include "ir/infer.h"
#include "ir/op_def.h"
#include "ir/walk.h"
#include "ops/composer.h"
#include "passes/rewrite/rewriter.h"
#include "passes/streaming/stream_form.h"

namespace scanloom::passes {
namespace {

using ir::Dim;
using ir::Module;
using ir::Node;
using ir::NodeId;
using ir::Type;
using ir::ValueId;
using tensor::Tensor;

/// Returns what the nodes read of the state: the kept value, or the branch that chooses the initial
/// one.
ValueId read_of(const Module& module, const ir::State& state) {
  const ir::Region& top = module.region(module.top());
  if (!state.is_kept) return top.args[state.input];
  for (const NodeId id : top.nodes) {
    const Node& node = module.node(id);
    if (node.op == &ir::branch_op && node.inputs[0] == top.args[*state.is_kept])
      return node.outputs[0];
  }
  return {};
}

/// Removes the sites that a variable of the model already keeps: the loop alone reads its value,
/// and the loop's final value is assigned to it. Any other variable that changes would change
/// between pieces but not within the whole.
Expected<void> leave_to_variables(const Module& module, std::vector<CarriedSite>& sites) {
  const std::vector<std::uint32_t> uses = ir::count_uses(module);
  const ir::Region& top = module.region(module.top());
  for (const ir::State& state : module.states) {
    const ValueId read = read_of(module, state), next = top.yields[state.output];
    if (next == read || next == top.args[state.input]) continue;
    const auto site = std::ranges::find_if(sites, [&](const CarriedSite& each) {
      const Node& node = module.node(each.node);
      return read.valid() && each.input < node.inputs.size() && node.inputs[each.input] == read &&
             node.outputs[each.output] == next && uses[read.index] == 1;
    });
    if (site == sites.end())
      return fail(Code::unsupported,
                  "variable '{}' is assigned once per run, which in a stream would be once per "
                  "piece",
                  state.name)
          .note("the initial and final values of a loop can be kept from piece to piece");
    sites.erase(site);
  }
  return {};
}

class StateKeeper {
 public:
  explicit StateKeeper(Module& module) : module_(module), inputs_(args()) {}

  Expected<void> keep(const CarriedSite& site) {
    const std::size_t number = kept_[site.node]++;
    const std::string name = unused_name(fmt::format("{}/variable_{}", name_of(site), number));
    ir::State state{.name = name, .is_hidden = true};
    state.input = add_argument(own_type(site.type), name);
    SCANLOOM_TRY(state.initial, zeros(site.type));
    SCANLOOM_CHECK_OK(begin(site, state));
    ir::Region& top = module_.region(module_.top());
    state.output = static_cast<std::uint32_t>(top.yields.size());
    top.yields.push_back(module_.node(site.node).outputs[site.output]);
    module_.output_names.push_back(name + "/next");
    if (!module_.declared_outputs.empty()) module_.declared_outputs.emplace_back();
    module_.states.push_back(std::move(state));
    return {};
  }

 private:
  /// Before the first run an open size is 0, whatever the same size is elsewhere.
  Type own_type(Type type) const {
    for (Dim& dim : type.dims)
      if (!dim.is_constant()) dim = module_.dims.fresh();
    return type;
  }

  [[nodiscard]] const std::vector<ValueId>& args() const {
    return module_.region(module_.top()).args;
  }

  std::uint32_t add_argument(const Type& type, const std::string& name) {
    return module_.value(module_.add_argument(module_.top(), type, name)).index;
  }

  /// "loop/h": the body and its argument, or the layer and its operand.
  [[nodiscard]] std::string name_of(const CarriedSite& site) const {
    const Node& node = module_.node(site.node);
    if (node.op != &ir::loop_op) {
      const auto named = std::ranges::find_if(
          node.outputs, [&](ValueId value) { return !module_.value(value).name.empty(); });
      return fmt::format(
          "{}/{}",
          named == node.outputs.end() ? module_.describe(site.node) : module_.value(*named).name,
          node.op->inputs[site.input].name);
    }
    const ir::Region& body = module_.region(node.regions[0]);
    const std::size_t carried = site.input - node.loop->first_carried_input();
    const std::string& arg = module_.value(body.args[node.loop->captured + carried]).name;
    return fmt::format("{}/{}", body.name.empty() ? module_.describe(site.node) : body.name,
                       arg.empty() ? "state" : arg);
  }

  /// Returns a name that no input, result or state of the model has.
  [[nodiscard]] std::string unused_name(std::string name) const {
    const auto taken = [&] {
      return std::ranges::any_of(args(),
                                 [&](ValueId arg) { return module_.value(arg).name == name; }) ||
             std::ranges::find(module_.states, name, &ir::State::name) != module_.states.end() ||
             std::ranges::find(module_.output_names, name + "/next") != module_.output_names.end();
    };
    while (taken()) name += "_";
    return name;
  }

  /// Open sizes are 0.
  static Expected<Tensor> zeros(const Type& type) {
    tensor::Shape shape;
    for (const Dim dim : type.dims) shape.push_back(dim.is_constant() ? dim.value() : 0);
    return Tensor::zeros(type.dtype, shape);
  }

  /// Makes the loop begin with the state, and the state with the loop's initial value.
  Expected<void> begin(const CarriedSite& site, ir::State& state) {
    std::vector<ValueId>& inputs = module_.node(site.node).inputs;
    if (inputs.size() <= site.input) inputs.resize(site.input + 1);
    ValueId first = inputs[site.input];
    const ValueId kept = args()[state.input];
    const Tensor* const known = first.valid() ? constant_of(module_, first) : nullptr;
    if (known != nullptr || (!first.valid() && site.type.is_static())) {
      if (known != nullptr) state.initial = *known;
      inputs[site.input] = kept;
      return {};
    }
    state.is_kept = add_argument(Type::scalar(DType::boolean), state.name + "/kept");
    const std::size_t nodes = module_.region(module_.top()).nodes.size();
    if (!first.valid()) {
      SCANLOOM_TRY(first, computed_zeros(site));
    }
    const ValueId value = kept_or(kept, *state.is_kept, first, site.node);
    move_before(nodes, site.node);
    module_.node(site.node).inputs[site.input] = value;
    return {};
  }

  /// A branch, so that only one of the two is computed.
  ValueId kept_or(ValueId kept, std::uint32_t is_kept, ValueId first, NodeId loop) {
    const NodeId branch =
        module_.add_node(module_.top(), ir::branch_op, {args()[is_kept], kept, first}, {}, {},
                         module_.node(loop).location);
    for (std::size_t side = 0; side < 2; ++side) {
      const ir::RegionId region = module_.add_region(branch, side == 0 ? "kept" : "first");
      module_.node(branch).regions.push_back(region);
      const ValueId both[] = {module_.add_argument(region, module_.value(kept).type),
                              module_.add_argument(region, module_.value(first).type)};
      module_.region(region).yields.push_back(both[side]);
    }
    return module_.add_output(
        branch, ir::join(module_.value(kept).type, module_.value(first).type, module_.dims));
  }

  /// Returns the zeros that a layer begins with; open sizes are those of inputs.
  Expected<ValueId> computed_zeros(const CarriedSite& site) {
    ir::Builder builder(module_, module_.top());
    builder.set_location(module_.node(site.node).location);
    ops::Composer c(builder);
    std::vector<ValueId> sizes;
    for (const Dim dim : site.type.dims) {
      ValueId size = dim.is_constant() ? c.number(dim.value()) : ValueId{};
      for (const ValueId arg : inputs_) {
        const std::vector<Dim>& dims = module_.value(arg).type.dims;
        const auto at = std::ranges::find(dims, dim);
        if (!size.valid() && at != dims.end()) size = c.dim(arg, at - dims.begin());
      }
      if (!size.valid())
        return fail(Code::unsupported, "{} begins with zeros of a size that no input has",
                    module_.describe(site.node));
      sizes.push_back(c.unsqueeze(size, {0}));
    }
    const ValueId value = c.expand(c.scalar(0, site.type.dtype), c.concat(sizes, 0));
    SCANLOOM_CHECK_OK(c.done());
    return value;
  }

  /// Moves the nodes from number `first` on, which are the last ones.
  void move_before(std::size_t first, NodeId loop) {
    std::vector<NodeId>& nodes = module_.region(module_.top()).nodes;
    std::rotate(std::ranges::find(nodes, loop), nodes.begin() + static_cast<std::ptrdiff_t>(first),
                nodes.end());
  }

  Module& module_;
  const std::vector<ValueId> inputs_;   ///< of the model as it was
  std::map<NodeId, std::size_t> kept_;  ///< how many values of the loop
};

}  // namespace

Expected<void> keep_loop_states(Module& module) {
  SCANLOOM_TRY(StepAxes axes, streamed_axes(module));
  SCANLOOM_CHECK_OK(leave_to_variables(module, axes.sites));
  StateKeeper keeper(module);
  for (const CarriedSite& site : axes.sites) SCANLOOM_CHECK_OK(keeper.keep(site));
  return ir::infer_types(module);
}

}  // namespace scanloom::passes
