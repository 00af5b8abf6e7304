// What a stream without named states runs: the module whose states are what the loops of the model
// carry.
#include <algorithm>
#include <iterator>

#include "api/impl.h"
#include "ir/verify.h"
#include "passes/run.h"
#include "passes/streaming/stream_form.h"

namespace scanloom {
namespace {

using passes::StreamForm;

/// Runs passes that loops carry the same values after as before, but for those that grow, which
/// become rows: only so much of which can be followed.
Expected<void> simplify(ir::Module& module, const std::vector<std::string>& disabled) {
  constexpr passes::PassFn kWanted[] = {
      passes::canonicalise,   passes::fold_constants,   passes::inline_branch, passes::merge_common,
      passes::sink_constants, passes::slice_by_counter, passes::stack_growth};
  passes::RunOptions options;
  options.disabled = disabled;
  for (const passes::PassDef& pass : passes::all_passes())
    if (std::ranges::find(kWanted, pass.run) == std::end(kWanted))
      options.disabled.emplace_back(pass.name);
  SCANLOOM_CHECK_OK(passes::run(module, options));
  return ir::verify(module);
}

/// Of the model as it was written, where its steps can be followed.
Expected<StreamForm> declared_form(ir::Module module, const std::vector<std::string>& disabled) {
  Expected<StreamForm> form = passes::stream_form(module);
  if (form || !simplify(module, disabled)) return form;
  Expected<StreamForm> simpler = passes::stream_form(module);
  return simpler ? std::move(simpler) : std::move(form);
}

}  // namespace

// Passes capture what is carried and never changes, drop what nothing reads and dissolve loops, but
// which inputs a stream begins with is for the model to say.
Expected<StreamForm> Session::Impl::stream_form() const {
  const ir::Module& optimised = for_streams ? *for_streams : plan->module;
  if (!options.optimize) return passes::stream_form(optimised);
  Expected<ir::Module> module = before_passes();
  if (!module) return passes::stream_form(optimised);
  const bool has_walk = passes::walks_open_size(*module);
  Expected<StreamForm> declared = declared_form(*std::move(module), options.disabled_passes);
  if (declared) return declared;
  // What stood in the way may be gone; else it is named as the model has it.
  Expected<StreamForm> form = passes::stream_form(optimised);
  return form || !has_walk ? std::move(form) : std::move(declared);
}

Expected<std::shared_ptr<const Session::Impl::StreamProgram>> Session::Impl::stream_program()
    const {
  const std::scoped_lock lock(program_mutex);
  if (program) return program;
  SCANLOOM_TRY(passes::StreamForm form, stream_form());
  const auto optimised = [&](ir::Module& module) -> Expected<void> {
    if (!options.optimize) return ir::verify(module);
    passes::RunOptions pass_options;
    pass_options.disabled = options.disabled_passes;
    SCANLOOM_CHECK_OK(passes::run(module, pass_options));
    return ir::verify(module);
  };
  StreamProgram made{.outputs = form.outputs, .computed = std::move(form.computed)};
  SCANLOOM_CHECK_OK(optimised(form.module));
  made.steps = of_module(std::move(form.module), options);
  if (form.initial) {
    SCANLOOM_CHECK_OK(optimised(*form.initial));
    made.initial = of_module(std::move(*form.initial), options);
  }
  program = std::make_shared<const StreamProgram>(std::move(made));
  for_streams.reset();
  return program;
}

}  // namespace scanloom
