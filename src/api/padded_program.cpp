// Many sequences in padded batches: a form of the model that takes whole sequences, for models that
// walk along them in both directions.
#include "api/many_program.h"

#include "passes/streaming/add_lanes.h"

namespace scanloom {
namespace {

using Kind = ir::StepFlow::Kind;
using passes::LanedForm;
using passes::PaddedForm;
using passes::StepOrder;

std::variant<LanedForm, Refusal> with_lanes(const PaddedForm& form, std::vector<bool> common) {
  std::vector<ir::StepFlow> arguments = form.arguments;
  arguments.emplace_back();  // the length
  common.push_back(false);
  return passes::add_lanes(form.module, arguments, form.results, common);
}

/// Returns an empty text, or why a value does not fit into a batch.
std::string why_unfit(const ManyInput& input, const ValueInfo& info) {
  return is_plain(info) || !input.lane
             ? ""
             : fmt::format("input '{}' is no tensor of numbers", info.name);
}

std::string why_unfit(const ManyOutput& output, const ValueInfo& info) {
  if (!is_plain(info))
    return fmt::format("output '{}' is no tensor of numbers of known axes", info.name);
  if (output.kind == Kind::along && output.each < 1)
    return fmt::format("output '{}' has an unknown number of rows for each step", info.name);
  return {};
}

void take_inputs(const Session::Impl& model, const PaddedForm& form, const LanedForm& laned,
                 ManyProgram& made) {
  const std::vector<ir::ValueId>& args = laned.module.region(laned.module.top()).args;
  for (std::size_t i = 0; i < form.arguments.size(); ++i) {
    ManyInput& input = made.inputs.emplace_back();
    input.argument = i;
    input.lane = laned.axes.arguments[i];
    if (form.arguments[i].kind == Kind::along) input.steps = form.arguments[i].axis;
    for (const tensor::Dim size : laned.module.value(args[i]).type.dims)
      input.sizes.push_back(size.is_constant() ? size.value() : -1);
    if (input.steps) made.bytes_of_step += bytes_of_step(model.inputs[i]);
    if (made.reason.empty()) made.reason = why_unfit(input, model.inputs[i]);
  }
}

void take_outputs(const Session::Impl& model, const PaddedForm& form, const LanedForm& laned,
                  ManyProgram& made) {
  for (std::size_t i = 0; i < form.results.size(); ++i) {
    const ir::StepFlow& flow = form.results[i];
    ManyOutput& output = made.outputs.emplace_back();
    output.kind = flow.kind;
    output.steps = flow.axis;
    output.each = flow.each.is_constant() ? flow.each.value() : 0;
    output.lane = laned.axes.results[i];
    output.pads_front = form.orders[i] == StepOrder::backward;
    if (output.kind == Kind::along) made.bytes_of_step += bytes_of_step(model.outputs[i]);
    if (made.reason.empty()) made.reason = why_unfit(output, model.outputs[i]);
  }
}

}  // namespace

Expected<std::shared_ptr<ManyProgram>> padded_program(const Session::Impl& model,
                                                      const std::vector<bool>& common) {
  auto made = std::make_shared<ManyProgram>();
  const auto refuse = [&](const Refusal& refusal, const ir::Module& module) {
    made->reason = refusal.reason;
    if (refusal.node.valid()) made->node = describe_inside(module, refusal.node);
    return made;
  };
  std::optional<ir::Module> from;
  const std::variant<PaddedForm, Refusal> padded = padded_form(model, from);
  if (const auto* refusal = std::get_if<Refusal>(&padded)) return refuse(*refusal, *from);
  const PaddedForm& form = std::get<PaddedForm>(padded);
  std::variant<LanedForm, Refusal> found = with_lanes(form, common);
  if (const auto* refusal = std::get_if<Refusal>(&found)) return refuse(*refusal, form.module);
  LanedForm& laned = std::get<LanedForm>(found);
  made->adds_axis = made->has_steps = true;
  made->common = common;
  take_inputs(model, form, laned, *made);
  take_outputs(model, form, laned, *made);
  if (!made->reason.empty()) return made;
  SCANLOOM_CHECK_OK(model.optimise_form(laned.module));
  SessionOptions one_thread = model.options;
  one_thread.threads = 1;
  one_thread.on_warning = {};
  made->steps = Session::Impl::of_module(std::move(laned.module), one_thread);
  made->steps->max_bindings = kBindingsOfLanes;
  made->pads = true;
  return made;
}

}  // namespace scanloom
