#include "api/function_sequences.h"

#include <set>
#include <utility>

#include "api/many_target.h"
#include "expr/lower.h"

namespace scanloom {
namespace {

/// The module with a name of its own for each input.
ir::Module with_names(ir::Module module) {
  std::set<std::string> used;
  for (const ir::ValueId arg : module.region(module.top()).args) {
    std::string& name = module.value(arg).name;
    name = expr::distinct(name.empty() ? "input" : name, used);
  }
  return module;
}

View view_of(const tensor::Tensor& value) {
  return {.dtype = value.dtype(),
          .shape = {value.shape().begin(), value.shape().end()},
          .data = value.data(),
          .owner = value.owner()};
}

/// `model`: names and open sizes of the inputs.
Expected<Results> call(const Session::Impl& model, const FunctionPrograms& programs,
                       std::span<const Feed> feeds, const RunOptions& options,
                       std::span<const std::string> wanted) {
  SCANLOOM_TRY(const Arranged arranged, model.arrange(feeds));
  const Specialised& versions = programs.choose(arranged.shapes).versions;
  SCANLOOM_TRY(const std::shared_ptr<Session::Impl> version, versions.for_sizes(arranged.shapes));
  Results results;
  SCANLOOM_TRY(std::vector<Value> values,
               version->options.execution == Execution::interpreted
                   ? version->run_interpreted(arranged, options, results.report)
                   : version->run_bound(arranged, options, results.report));
  if (wanted.empty())
    for (Value& value : values) results.add("", std::move(value));
  for (const std::string& name : wanted)
    results.add(name, values[find_by_name(model.outputs, name)]);
  return results;
}

}  // namespace

FunctionSequences::FunctionSequences(std::shared_ptr<const FunctionPrograms> programs,
                                     std::size_t inputs)
    : programs_(std::move(programs)), inputs_(inputs) {
  ir::Module module = with_names(programs_->whole().open().plan->module);
  auto model = Session::Impl::of_module(module, programs_->whole().open().options);
  model->written = std::move(module);
  model_ = std::move(model);
}

Expected<ManyRuns> FunctionSequences::run(SequenceSource source, ManyOptions options,
                                          const std::vector<tensor::Tensor>& variables) const {
  for (std::size_t i = 0; i < variables.size(); ++i)
    options.shared.push_back({model_->inputs[inputs_ + i].name, view_of(variables[i])});
  const std::vector<bool> common = model_->inputs_fed(options.shared);
  ManyTarget target{.model = model_, .program = {}, .run = {}};
  SCANLOOM_TRY(target.program, model_->many_program(common));
  target.for_sizes = [model = model_, common](const Arranged& first) {
    return model->many_program_for(first.shapes, common, kTries);
  };
  target.run = [model = model_, programs = programs_](std::span<const Feed> feeds,
                                                      const RunOptions& run,
                                                      std::span<const std::string> wanted,
                                                      std::uint64_t) {  // none of them draws
    Expected<Results> results = call(*model, *programs, feeds, run, wanted);
    return results ? std::move(results) : of_call(std::move(results).error());
  };
  return target.start(std::move(source), options);
}

}  // namespace scanloom
