// One run of a session: feeds, binding, limits, results.
#include <algorithm>
#include <chrono>
#include <thread>

#include "api/impl.h"
#include "api/profile.h"
#include "base/memory_budget.h"
#include "base/memory_left.h"
#include "interp/interpreter.h"
#include "ir/size_names.h"
#include "plan/check_feeds.h"

namespace scanloom {
namespace {

constexpr auto kOnPollInterval = std::chrono::milliseconds(50);

/// `name_of` gives the name of a loop by its number in the run.
runtime::Limits limits_of(const RunOptions& options,
                          std::function<std::string(std::uint32_t)> name_of) {
  runtime::Limits limits;
  limits.deadline_seconds = options.deadline;
  limits.max_steps = options.max_steps;
  limits.max_memory = options.max_memory;
  if (options.cancel != nullptr)
    limits.cancelled = [flag = options.cancel] { return flag->cancelled(); };
  if (options.progress)
    limits.progress = [&progress = options.progress, name_of = std::move(name_of)](
                          std::uint32_t loop, std::int64_t step, std::int64_t steps) {
      const std::string name = name_of(loop);
      progress({name, step, steps});
    };
  if (options.on_poll)
    limits.on_poll = [&on_poll = options.on_poll, caller = std::this_thread::get_id(),
                      last = runtime::Clock::now()](runtime::Clock::time_point now) mutable {
      if (std::this_thread::get_id() != caller || now - last < kOnPollInterval) return;
      last = now;
      on_poll();
    };
  return limits;
}

double seconds_since(runtime::Clock::time_point start) {
  return std::chrono::duration<double>(runtime::Clock::now() - start).count();
}

/// The mutex must be locked.
void note_run(BoundEntry& entry, const runtime::Run& run, const runtime::RunResult& result) {
  ++entry.runs;
  entry.steps = result.steps;
  entry.data_bytes = result.data_bytes;
  entry.result_bytes = 0;
  entry.loop_steps.clear();
  for (const runtime::LoopTime& time : run.loop_times()) entry.loop_steps.push_back(time.last);
  entry.result_sizes.resize(result.outputs.size());
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const tensor::ObjectRef& object = result.objects[i];
    const bool is_tensor = object && object->is_tensor();
    const tensor::Tensor& made = is_tensor ? object->tensor() : result.outputs[i];
    if (!made.defined()) continue;
    entry.result_sizes[i] = made.shape();
    entry.result_bytes += bytes_with_text(made);
  }
}

}  // namespace

Expected<std::shared_ptr<BoundEntry>> Session::Impl::bind(const std::vector<tensor::Shape>& shapes,
                                                          const plan::MayGoOn& may_go_on) const {
  const auto find = [&] {
    return std::ranges::find_if(bound, [&](const auto& entry) { return entry->shapes == shapes; });
  };
  {
    const std::scoped_lock lock(mutex);
    if (const auto found = find(); found != bound.end()) {
      std::rotate(bound.begin(), found, found + 1);
      return bound.front();
    }
  }
  // Not locked: binding may compile a loop, and runs of other sizes need not wait for that.
  auto entry = std::make_shared<BoundEntry>();
  entry->shapes = shapes;
  SCANLOOM_TRY(entry->binding, plan::bind(plan, shapes, may_go_on));
  const std::scoped_lock lock(mutex);
  if (const auto found = find(); found != bound.end()) return *found;
  if (bound.size() == max_bindings) bound.pop_back();
  bound.insert(bound.begin(), entry);
  return entry;
}

Expected<std::vector<Value>> Session::Impl::run_bound(const Arranged& feeds,
                                                      const RunOptions& run_options,
                                                      RunReport& report) const {
  std::shared_ptr<BoundEntry> entry;
  runtime::Limits limits = limits_of(run_options, [&](std::uint32_t loop) {
    return plan::describe(*plan, entry->binding->loops[loop].node);
  });
  limits.start = runtime::Clock::now();
  const runtime::Watch watch(limits);
  plan::MayGoOn may_go_on;
  if (watch.may_stop()) may_go_on = [&watch] { return watch.poll(); };
  SCANLOOM_TRY(entry, bind(feeds.shapes, may_go_on));
  std::unique_ptr<runtime::Run> run;
  {
    const std::scoped_lock lock(entry->mutex);
    if (!entry->idle.empty()) {
      run = std::move(entry->idle.back());
      entry->idle.pop_back();
    }
  }
  if (!run) {
    SCANLOOM_TRY(run, runtime::Run::make(entry->binding, run_options.max_memory,
                                         plan->options.threads, result_memory));
  }
  runtime::Profile profile;
  Expected<runtime::RunResult> result = run->execute(
      feeds.data, limits, run_options.profile ? &profile : nullptr, feeds.objects, run_of(feeds));
  // A run that was refused memory keeps none: later runs have their own budgets.
  const bool is_refused = !result && run->was_short_of_memory();
  {
    const std::scoped_lock lock(entry->mutex);
    if (result) note_run(*entry, *run, *result);
    if (!is_refused && entry->idle.size() < kIdleRuns) entry->idle.push_back(std::move(run));
  }
  if (is_refused) {
    run.reset();
    return_freed_memory();
  }
  if (!result) return std::move(result).error();
  report.steps = result->steps;
  std::vector<Value> values;
  values.reserve(result->outputs.size());
  for (std::size_t i = 0; i < result->outputs.size(); ++i) {
    SCANLOOM_TRY(Value value,
                 result->objects[i] ? to_value(result->objects[i]) : to_value(result->outputs[i]));
    values.push_back(std::move(value));
  }
  report.seconds = seconds_since(*limits.start);
  // Naming thousands of nodes takes longer than running small ones, and is no part of the run.
  if (run_options.profile) report.profile = profile_rows(*entry->binding, profile);
  return values;
}

Expected<std::vector<Value>> Session::Impl::run_interpreted(const Arranged& feeds,
                                                            const RunOptions& run_options,
                                                            RunReport& report) const {
  const auto start = runtime::Clock::now();
  SCANLOOM_CHECK_OK(plan::check_feeds(plan->module, feeds.shapes));
  std::vector<tensor::ObjectRef> objects = feeds.objects;
  for (std::size_t i = 0; i < objects.size(); ++i)
    if (!objects[i])
      objects[i] = tensor::ObjectRef::of(
          tensor::Tensor(inputs[i].dtype, feeds.shapes[i], nullptr, feeds.data[i]));
  interp::InterpretOptions interpret_options;
  interpret_options.max_steps_of_any = run_options.max_steps;
  interpret_options.run_number = run_of(feeds);
  interpret_options.max_memory = run_options.max_memory;
  const runtime::Limits limits = limits_of(
      run_options, [&](std::uint32_t loop) { return plan->module.describe(ir::NodeId(loop)); });
  runtime::Watch watch(limits);
  if (watch.may_stop()) SCANLOOM_CHECK_OK(watch.poll());
  runtime::KernelWatch kernels;
  const runtime::KernelWatch::Run watched(kernels, watch);
  interpret_options.stop = &kernels;
  interpret_options.why_stopped = [&kernels] { return kernels.take_error(); };
  std::int64_t steps = 0;
  interpret_options.may_go_on = [&](const interp::LoopProgress& progress) -> Expected<void> {
    ++steps;
    return watch.poll(progress.step, {progress.loop.index, progress.step, progress.steps});
  };
  SCANLOOM_TRY(const std::vector<tensor::ObjectRef> results,
               interp::interpret_objects(plan->module, objects, interpret_options));
  std::vector<Value> values;
  for (const tensor::ObjectRef& result : results) {
    SCANLOOM_TRY(Value value, to_value(result));
    values.push_back(std::move(value));
  }
  report.steps = steps;
  report.seconds = seconds_since(start);
  return values;
}

Expected<Results> Session::Impl::run(std::span<const Feed> feeds, const RunOptions& run_options,
                                     std::span<const std::string> wanted, bool hidden,
                                     std::optional<std::uint64_t> number) const {
  std::vector<std::size_t> indices;
  for (const std::string& name : wanted) {
    const std::size_t found = find_by_name(outputs, name);
    if (found == outputs.size())
      return fail(Code::invalid_argument, "the model has no output '{}'", name)
          .note("its outputs are: " + names_of(std::span(outputs).first(own_outputs)));
    indices.push_back(found);
  }
  if (wanted.empty())
    for (std::size_t i = 0; i < (hidden ? outputs.size() : own_outputs); ++i) indices.push_back(i);
  if (!hidden)
    for (const ValueInfo& state : std::span(inputs).subspan(own_inputs))
      if (std::ranges::find(feeds, state.name, &Feed::name) != feeds.end())
        return fail(Code::invalid_argument, "'{}' is a state of the model, not an input",
                    state.name)
            .note("set it in a stream, which keeps it from one push to the next");
  SCANLOOM_TRY(Arranged arranged, arrange(feeds));
  arranged.run = number;
  SCANLOOM_TRY(const std::shared_ptr<Impl> unshared_sizes, unshared_for(arranged.shapes));
  const Impl& runner = unshared_sizes ? *unshared_sizes : *this;
  Results results;
  auto computed = options.execution == Execution::interpreted
                      ? runner.run_interpreted(arranged, run_options, results.report)
                      : runner.run_bound(arranged, run_options, results.report);
  if (!computed) return ir::with_size_names(computed.error(), runner.plan->module);
  // An output may be requested twice.
  const bool is_asked_once = wanted.size() <= 1;
  for (const std::size_t i : indices)
    results.add(outputs[i].name, is_asked_once ? std::move((*computed)[i]) : (*computed)[i]);
  return results;
}

std::int64_t default_max_memory() noexcept {
  MemoryBudget budget;
  budget.measure(0);
  return budget.bytes();
}

}  // namespace scanloom
