// The program of a stream without named states: a module whose states are what the model's loops
// carry.
#include <algorithm>
#include <iterator>

#include "api/impl.h"
#include "api/many_program.h"
#include "ir/verify.h"
#include "passes/run.h"
#include "passes/streaming/stream_form.h"

namespace scanloom {
namespace {

using passes::StreamForm;

/// Runs passes that keep what loops carry, except for values that grow, which become stacked rows:
/// only those can be streamed. Short loops are unrolled: one over a batch of a single row hides the
/// loop along the sequence.
Expected<void> simplify(ir::Module& module, const std::vector<std::string>& disabled) {
  constexpr passes::PassFn kWanted[] = {passes::canonicalise,   passes::fold_constants,
                                        passes::inline_branch,  passes::merge_common,
                                        passes::sink_constants, passes::slice_by_counter,
                                        passes::stack_growth,   passes::unroll_short_loop};
  passes::RunOptions options;
  options.disabled = disabled;
  for (const passes::PassDef& pass : passes::all_passes())
    if (std::ranges::find(kWanted, pass.run) == std::end(kWanted))
      options.disabled.emplace_back(pass.name);
  SCANLOOM_CHECK_OK(passes::run(module, options));
  return ir::verify(module, ir::ResultTypes::trusted);
}

/// The stream form of the model as written, if its steps can be followed.
Expected<StreamForm> declared_form(ir::Module module, const std::vector<std::string>& disabled) {
  Expected<StreamForm> form = passes::stream_form(module);
  if (form || !simplify(module, disabled)) return form;
  Expected<StreamForm> simpler = passes::stream_form(module);
  return simpler ? std::move(simpler) : std::move(form);
}

}  // namespace

// Passes capture carried values that never change, drop unread ones and dissolve loops. The model
// as written must decide which inputs a stream begins with.
Expected<StreamForm> Session::Impl::stream_form() const {
  const ir::Module& optimised = for_streams ? *for_streams : plan->module;
  if (!options.optimize) return passes::stream_form(optimised);
  Expected<ir::Module> module = before_passes();
  if (!module) return passes::stream_form(optimised);
  const bool has_walk = !passes::open_walked_sizes(*module).empty();
  Expected<StreamForm> declared = declared_form(*std::move(module), options.disabled_passes);
  if (declared) return declared;
  // Passes may have removed the obstacle; otherwise the error names it as written in the model.
  Expected<StreamForm> form = passes::stream_form(optimised);
  return form || !has_walk ? std::move(form) : std::move(declared);
}

std::variant<passes::PaddedForm, Refusal> padded_form(const Session::Impl& model,
                                                      std::optional<ir::Module>& from) {
  Expected<ir::Module> written = model.before_passes();
  const bool is_simpler =
      written && model.options.optimize && simplify(*written, model.options.disabled_passes);
  if (!is_simpler) {
    from = model.plan->module;
    return passes::padded_form(*from);
  }
  from = *std::move(written);
  std::variant<passes::PaddedForm, Refusal> form = passes::padded_form(*from);
  if (std::holds_alternative<passes::PaddedForm>(form)) return form;
  // Passes may have removed the obstacle; otherwise the refusal names it as written in the model.
  std::variant<passes::PaddedForm, Refusal> other = passes::padded_form(model.plan->module);
  return std::holds_alternative<passes::PaddedForm>(other) ? std::move(other) : std::move(form);
}

Expected<void> Session::Impl::optimise_form(ir::Module& module) const {
  if (!options.optimize) return ir::verify(module, ir::ResultTypes::trusted);
  passes::RunOptions pass_options;
  pass_options.disabled = options.disabled_passes;
  pass_options.fast = options.numerics == Numerics::fast;
  SCANLOOM_CHECK_OK(passes::run(module, pass_options));
  return ir::verify(module, ir::ResultTypes::trusted);
}

Expected<std::shared_ptr<const Session::Impl::StreamProgram>> Session::Impl::stream_program()
    const {
  const std::scoped_lock lock(program_mutex);
  if (program) return program;
  SCANLOOM_TRY(passes::StreamForm form, stream_form());
  StreamProgram made{.outputs = form.outputs, .computed = std::move(form.computed)};
  made.lanes = passes::lane_axes(form.module, form.arguments, form.results);
  if (const auto* refusal = std::get_if<Refusal>(&made.lanes)) {
    if (refusal->node.valid()) made.refused_node = describe_inside(form.module, refusal->node);
    made.form = std::make_shared<const ir::Module>(form.module);
  }
  made.arguments = std::move(form.arguments);
  made.results = std::move(form.results);
  SCANLOOM_CHECK_OK(optimise_form(form.module));
  made.steps = of_module(std::move(form.module), options);
  if (form.initial) {
    SCANLOOM_CHECK_OK(optimise_form(*form.initial));
    made.initial = of_module(std::move(*form.initial), options);
  }
  program = std::make_shared<const StreamProgram>(std::move(made));
  for_streams.reset();
  return program;
}

}  // namespace scanloom
