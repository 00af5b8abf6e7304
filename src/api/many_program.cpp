#include "api/many_program.h"

#include <algorithm>
#include <set>

#include "ir/walk.h"
#include "ops/ops.h"
#include "passes/run.h"
#include "passes/streaming/add_lanes.h"

namespace scanloom {
namespace {

using Kind = ir::StepFlow::Kind;
using StreamProgram = Session::Impl::StreamProgram;

std::optional<std::size_t> input_named(const Session::Impl& impl, const std::string& name) {
  for (std::size_t i = 0; i < impl.inputs.size(); ++i)
    if (impl.inputs[i].name == name) return i;
  return std::nullopt;
}

const tensor::Type& argument_type(const ir::Module& module, std::size_t argument) {
  return module.value(module.region(module.top()).args[argument]).type;
}

/// Returns an empty text, or why the sizes of the state are not those of a lane.
std::string wrong_sizes(const tensor::Type& type, int lane) {
  if (!type.is_tensor() || !type.ranked || type.dtype == DType::string || lane >= type.rank())
    return "is no tensor of known axes";
  for (int axis = 0; axis < type.rank(); ++axis) {
    const bool is_fixed = type.dims[static_cast<std::size_t>(axis)].is_constant();
    if (axis == lane && is_fixed) return "has a fixed size on the axis of the batch";
    if (axis != lane && !is_fixed) return "has a size that may change from step to step";
  }
  return {};
}

/// Whether a node reads an argument of the module as anything but something that has sizes.
bool reads_elements(const ir::Module& module) {
  const auto is_argument = [&](ir::ValueId id) {
    return id.valid() && !module.value(id).producer.valid();
  };
  const ir::Region& top = module.region(module.top());
  if (std::ranges::any_of(top.yields, is_argument)) return true;
  return std::ranges::any_of(top.nodes, [&](ir::NodeId id) {
    const ir::Node& node = module.node(id);
    const bool reads_sizes = node.op == &ops::dim_op || node.op == &ops::shape_op;
    return !reads_sizes && std::ranges::any_of(node.inputs, is_argument);
  });
}

/// Whether a loop inside of another one carries values along an open size of an input.
bool has_loops_inside(const ir::Module& module) {
  std::set<tensor::Dim> open;
  for (const ir::ValueId arg : module.region(module.top()).args)
    for (const tensor::Dim size : module.value(arg).type.dims)
      if (!size.is_constant()) open.insert(size);
  const auto walks_open = [&](ir::ValueId value, std::int64_t axis) {
    const tensor::Type& type = module.value(value).type;
    return type.ranked && axis < type.rank() &&
           open.contains(type.dims[static_cast<std::size_t>(axis)]);
  };
  const auto is_one = [&](ir::NodeId id) {
    const ir::Node& node = module.node(id);
    if (node.op != &ir::loop_op || node.loop->carried == 0) return false;
    for (std::size_t i = 0; i < node.loop->scanned.size(); ++i)
      if (walks_open(node.inputs[node.loop->first_scanned_input() + i], node.loop->scanned[i].axis))
        return true;
    return false;
  };
  return std::ranges::any_of(
      ir::regions_outer_first(module, module.top()), [&](ir::RegionId region) {
        return region != module.top() && std::ranges::any_of(module.region(region).nodes, is_one);
      });
}

/// Fills a ManyProgram from the stream form of a model.
class Maker {
 public:
  Maker(const Session::Impl& model, const StreamProgram& form, ManyProgram& made)
      : model_(model), form_(form), made_(made) {}

  /// `common`: see ManyProgram.
  Expected<void> make(const std::vector<bool>& common) {
    take_steps();
    made_.has_steps = true;
    const auto* axes = std::get_if<passes::LaneAxes>(&form_.lanes);
    std::optional<passes::LanedForm> laned;
    if (axes == nullptr) {
      laned = add_lanes(common);
      if (!laned && form_.steps->plan->module.states.empty() && has_loops_inside(*form_.form)) {
        made_.walks_rows = true;
        made_.has_steps = false;
        made_.why_not_cut = "the steps that its loops walk along are the rows of a batch";
      }
      if (!laned) return {};
      axes = &laned->axes;
    }
    const ir::Module& module = laned ? laned->module : form_.steps->plan->module;
    SCANLOOM_CHECK_OK(take_states(module, *axes));
    take_inputs(module, *axes);
    take_outputs(*axes);
    if (!made_.has_lanes()) return {};
    if (laned) SCANLOOM_CHECK_OK(model_.optimise_form(laned->module));
    SessionOptions options = model_.options;
    options.threads = 1;
    options.on_warning = {};
    made_.steps = Session::Impl::of_module(module, options);
    made_.steps->max_bindings = kBindingsOfLanes;
    made_.initial = form_.initial;
    if (made_.initial) made_.initial_varies = reads_elements(made_.initial->plan->module);
    return {};
  }

 private:
  void refuse(std::string reason) {
    if (made_.reason.empty()) made_.reason = std::move(reason);
  }

  /// The form with an axis of lanes, if it has no batch. nullopt: `reason` says why not.
  std::optional<passes::LanedForm> add_lanes(const std::vector<bool>& common) {
    made_.adds_axis = true;
    made_.common = common;
    const ir::Module& form = *form_.form;
    std::vector<bool> same(form.region(form.top()).args.size());
    for (std::size_t i = 0; i < made_.inputs.size(); ++i)
      if (made_.inputs[i].argument) same[*made_.inputs[i].argument] = common[i];
    auto made = passes::add_lanes(form, form_.arguments, form_.results, same);
    if (auto* laned = std::get_if<passes::LanedForm>(&made)) return std::move(*laned);
    // Passes may have replaced the node in the way by others.
    auto other = passes::add_lanes(form_.steps->plan->module, form_.arguments, form_.results, same);
    if (auto* laned = std::get_if<passes::LanedForm>(&other)) return std::move(*laned);
    const auto& refusal = std::get<Refusal>(made);
    const bool has_batch = !form_.refused_node.empty();  // whose rows a node mixes
    made_.reason =
        has_batch ? std::get<Refusal>(form_.lanes).reason
                  : "there is no batch of open size, and lanes cannot be added: " + refusal.reason;
    made_.node = has_batch              ? form_.refused_node
                 : refusal.node.valid() ? describe_inside(form, refusal.node)
                                        : "";
    return std::nullopt;
  }

  /// Where inputs and outputs have the steps, which is all that resets need.
  void take_steps() {
    for (std::size_t i = 0; i < model_.own_inputs; ++i) {
      ManyInput& input = made_.inputs.emplace_back();
      const std::string& name = model_.inputs[i].name;
      input.argument = input_named(*form_.steps, name);
      if (form_.initial) input.initial = input_named(*form_.initial, name);
      if (!input.argument) continue;
      const ir::StepFlow& flow = form_.arguments[*input.argument];
      if (flow.kind == Kind::along) input.steps = flow.axis;
    }
    for (const ir::StepFlow& flow : form_.results) {
      ManyOutput& output = made_.outputs.emplace_back();
      output.kind = flow.kind;
      output.steps = flow.axis;
      output.each = flow.each.is_constant() ? flow.each.value() : 0;
    }
  }

  Expected<void> take_states(const ir::Module& module, const passes::LaneAxes& axes) {
    const std::vector<ir::State>& states = form_.steps->plan->module.states;
    for (std::size_t i = 0; i < states.size(); ++i) {
      ManyState state{.argument = states[i].input,
                      .yield = states[i].output,
                      .lane = *axes.arguments[states[i].input]};
      const tensor::Type& type = argument_type(module, state.argument);
      if (const std::string why = wrong_sizes(type, state.lane); !why.empty()) {
        refuse(fmt::format("'{}' {}", states[i].name, why));
        return {};
      }
      state.fed = input_named(model_, form_.steps->inputs[state.argument].name);
      const auto computed = std::ranges::find(form_.computed, i);
      if (computed != form_.computed.end())
        state.computed = static_cast<std::size_t>(computed - form_.computed.begin());
      SCANLOOM_CHECK_OK(set_initial(state, states[i], type));
      made_.states.push_back(std::move(state));
    }
    return {};
  }

  Expected<void> set_initial(ManyState& state, const ir::State& declared,
                             const tensor::Type& type) {
    if (state.fed || state.computed) return {};
    tensor::Shape shape;
    for (int axis = 0; axis < type.rank(); ++axis)
      shape.push_back(axis == state.lane ? 1 : type.dims[static_cast<std::size_t>(axis)].value());
    if (!declared.initial.defined()) {
      SCANLOOM_TRY(state.initial, tensor::Tensor::zeros(type.dtype, shape));
      return {};
    }
    const tensor::Shape in_lane = made_.in_lane(declared.initial.shape(), state.lane);
    state.initial = declared.initial.reshaped(in_lane);
    if (!(in_lane == shape))
      refuse(fmt::format("'{}' begins with sizes {}, not {}", declared.name,
                         declared.initial.shape().to_string(), shape.to_string()));
    return {};
  }

  void take_inputs(const ir::Module& module, const passes::LaneAxes& axes) {
    for (std::size_t i = 0; i < made_.inputs.size(); ++i) {
      ManyInput& input = made_.inputs[i];
      if (!is_plain(model_.inputs[i]))
        refuse(fmt::format("input '{}' is no tensor of numbers", model_.inputs[i].name));
      if (!input.argument) continue;
      input.lane = axes.arguments[*input.argument];
      if (made_.adds_axis)
        for (const tensor::Dim size : argument_type(module, *input.argument).dims)
          input.sizes.push_back(size.is_constant() ? size.value() : -1);
      if (input.steps) made_.bytes_of_step += bytes_of_step(model_.inputs[i]);
    }
  }

  void take_outputs(const passes::LaneAxes& axes) {
    for (std::size_t i = 0; i < made_.outputs.size(); ++i) {
      ManyOutput& output = made_.outputs[i];
      if (!is_plain(form_.steps->outputs[i]))
        refuse(fmt::format("output '{}' is no tensor of numbers of known axes",
                           model_.outputs[i].name));
      if (output.kind == Kind::along && output.each < 1)
        refuse(fmt::format("output '{}' has an unknown number of rows for each step",
                           model_.outputs[i].name));
      output.lane = axes.results[i];
      if (output.kind == Kind::along) made_.bytes_of_step += bytes_of_step(model_.outputs[i]);
    }
  }

  const Session::Impl& model_;
  const StreamProgram& form_;
  ManyProgram& made_;
};

/// Adds why padding does not help to why sequences cannot run in lanes.
void add_refusal(ManyProgram& made, const ManyProgram& padded) {
  if (padded.node.empty()) return;
  const std::string why = fmt::format("{}: {}", padded.node, padded.reason);
  const auto names_node = [&](const std::string& reason) {
    return reason.find(padded.node) != std::string::npos;
  };
  if (names_node(made.why_not_cut)) {
    if (!made.why_not_cut.ends_with(padded.reason)) made.why_not_cut = why;
  } else if (!made.why_not_cut.empty()) {
    made.why_not_cut += "; in padded batches " + why;
  }
  if (!made.node.empty()) {
    made.reason += "; in padded batches " + why;
    return;
  }
  made.reason = names_node(made.reason)
                    ? padded.reason
                    : fmt::format("{}; in lanes {}", padded.reason, made.reason);
  made.node = padded.node;
}

/// Returns the next value with a name of the user's before a node that passes have made, which has
/// none; invalid for other nodes, and where there is no such value.
ir::ValueId named_source(const ir::Module& module, ir::NodeId id) {
  while (id.valid() && !module.node(id).location.valid()) {
    const std::vector<ir::ValueId>& inputs = module.node(id).inputs;
    if (inputs.empty() || !inputs[0].valid()) return {};
    id = module.value(inputs[0]).producer;
    const bool is_users = id.valid() && module.node(id).location.valid();
    if (is_users || !module.value(inputs[0]).name.empty()) return inputs[0];
  }
  return {};
}

/// Returns the pass that sums over all steps of a sequence (passes::pass_that_sums). Functions, and
/// models of given sizes, run other programs than their plan's, without passes: for these they run
/// here.
Expected<std::string> pass_that_sums(const Session::Impl& model) {
  if (!model.options.optimize) return std::string();
  if (model.summing_pass) return std::string(*model.summing_pass);
  SCANLOOM_TRY(ir::Module module, model.before_passes());
  passes::RunOptions pass_options;
  pass_options.disabled = model.options.disabled_passes;
  pass_options.fast = model.options.numerics == Numerics::fast;
  SCANLOOM_TRY(const passes::RunReport report, passes::run(module, pass_options));
  return std::string(passes::pass_that_sums(report));
}

}  // namespace

std::string describe_inside(const ir::Module& module, ir::NodeId id) {
  std::string text = module.describe(id);
  if (const ir::ValueId source = named_source(module, id); source.valid())
    text += " that depends on " + module.describe_result(source);
  ir::LocationId named = module.node(id).location;
  for (ir::NodeId at = module.region(module.node(id).parent).owner; at.valid();
       at = module.region(module.node(at).parent).owner) {
    const ir::Node& owner = module.node(at);
    if (owner.location.valid() && owner.location == named) continue;  // two loops of one node
    named = owner.location;
    text += fmt::format(" in {} of {}", owner.op == &ir::loop_op ? "the body" : "a branch",
                        module.describe(at));
  }
  return text;
}

bool is_plain(const ValueInfo& info) {
  return info.kind == ValueKind::tensor && info.dtype != DType::string && info.ranked;
}

std::int64_t bytes_of_step(const ValueInfo& info) {
  auto bytes = static_cast<std::int64_t>(dtype_bytes(info.dtype));
  for (const ValueInfo::Dim& dim : info.shape)
    if (dim.size > 0 && __builtin_mul_overflow(bytes, dim.size, &bytes)) return INT32_MAX;
  return std::min<std::int64_t>(bytes, INT32_MAX);
}

Expected<std::shared_ptr<const ManyProgram>> Session::Impl::many_program(
    const std::vector<bool>& common) const {
  const std::scoped_lock lock(many_mutex);
  if (many && (many->common.empty() || many->common == common)) return many;
  auto made = std::make_shared<ManyProgram>();
  SCANLOOM_TRY(const std::string summing, pass_that_sums(*this));
  if (!summing.empty()) {
    made->sums_at_once = true;
    made->reason = made->why_not_cut = fmt::format(
        "pass {} sums over all of its steps at once, which pieces would round differently",
        summing);
    many = std::move(made);
    return many;
  }
  if (!plan->module.states.empty()) {
    made->reason = made->why_not_cut = "the session has named states";
  } else if (Expected<std::shared_ptr<const StreamProgram>> form = stream_program(); !form) {
    made->reason = made->why_not_cut = form.error().text();
  } else {
    SCANLOOM_CHECK_OK(Maker(*this, **form, *made).make(common));
  }
  if (!made->has_lanes() && plan->module.states.empty()) {
    SCANLOOM_TRY(std::shared_ptr<ManyProgram> padded, padded_program(*this, common));
    if (padded->pads) {
      padded->reason = std::move(made->reason);
      padded->node = std::move(made->node);
      made = std::move(padded);
    } else {
      add_refusal(*made, *padded);
    }
  }
  many = std::move(made);
  return many;
}

}  // namespace scanloom
