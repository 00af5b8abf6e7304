// Reports of sessions: collects what src/report needs from the session's program and its runs.
#include "report/report.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "api/guard.h"
#include "api/impl.h"
#include "api/machine.h"
#include "ir/size_names.h"
#include "report/fed_literals.h"

namespace scanloom {
namespace {

constexpr int kMaxRuns = 1000;

/// The name of a file without its folders: reports are shown to others.
std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

/// Returns what all runs of the entry so far have measured, by loop.
std::vector<report::LoopMeasured> measured(BoundEntry& entry) {
  const std::scoped_lock lock(entry.mutex);
  std::vector<report::LoopMeasured> loops(entry.binding->loops.size());
  for (std::size_t i = 0; i < loops.size(); ++i) {
    if (i < entry.loop_steps.size()) loops[i].last_steps = entry.loop_steps[i];
    for (const auto& run : entry.idle) {
      const runtime::LoopTime& time = run->loop_times()[i];
      loops[i].steps += time.steps;
      loops[i].seconds += time.seconds;
      loops[i].threads = std::max(loops[i].threads, time.threads);
    }
  }
  return loops;
}

/// Returns the same for the sizes of a feed; empty if they are not bound yet. Locks `mutex`.
std::vector<report::LoopMeasured> measured(std::mutex& mutex,
                                           const std::vector<std::shared_ptr<BoundEntry>>& bound,
                                           const std::vector<tensor::Shape>& shapes) {
  std::shared_ptr<BoundEntry> entry;
  {
    const std::scoped_lock lock(mutex);
    const auto found =
        std::ranges::find_if(bound, [&](const auto& each) { return each->shapes == shapes; });
    if (found != bound.end()) entry = *found;
  }
  return entry ? measured(*entry) : std::vector<report::LoopMeasured>();
}

/// Leaves in `now` what was measured since `before`, which may be empty: nothing was.
void subtract(std::vector<report::LoopMeasured>& now,
              std::span<const report::LoopMeasured> before) {
  for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i) {
    now[i].steps -= before[i].steps;
    now[i].seconds -= before[i].seconds;
  }
}

std::vector<std::vector<std::int64_t>> fed_sizes(const BoundEntry& entry, std::size_t inputs) {
  std::vector<std::vector<std::int64_t>> sizes;
  for (std::size_t i = 0; i < std::min(inputs, entry.shapes.size()); ++i)
    sizes.emplace_back(entry.shapes[i].begin(), entry.shapes[i].end());
  return sizes;
}

/// Returns what the programs of a stream's report feed: the inputs of the model, in the sizes that
/// ran. The program that the pushes run may have other inputs.
report::Interface pushed_interface(std::span<const ValueInfo> inputs, const report::StreamUse& use,
                                   const report::Interface& program) {
  report::Interface pushed = program;
  pushed.inputs = inputs;
  pushed.sizes.clear();
  pushed.values.clear();
  for (const ValueInfo& input : pushed.inputs) {
    const auto found = std::ranges::find(program.inputs, input.name, &ValueInfo::name);
    const auto at = static_cast<std::size_t>(found - program.inputs.begin());
    pushed.sizes.push_back(at < program.sizes.size() ? program.sizes[at]
                                                     : std::vector<std::int64_t>());
    pushed.values.push_back(at < program.values.size() ? program.values[at]
                                                       : std::vector<std::string>());
  }
  pushed.stream = use;
  return pushed;
}

/// The elements of the feeds as programs write them.
std::vector<std::vector<std::string>> fed_values(const Arranged& feeds,
                                                 std::span<const ValueInfo> inputs) {
  std::vector<std::vector<std::string>> values(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].kind == ValueKind::tensor && feeds.data[i] != nullptr)
      values[i] = report::fed_literals(inputs[i].dtype, feeds.data[i], feeds.shapes[i].elements());
  return values;
}

void add_binding(report::Facts& facts, BoundEntry& entry, std::size_t inputs) {
  facts.binding = entry.binding.get();
  if (facts.measured.empty()) facts.measured = measured(entry);
  facts.interface.sizes = fed_sizes(entry, inputs);
  const std::scoped_lock lock(entry.mutex);
  if (entry.runs > 0) facts.data_bytes = entry.data_bytes;
}

}  // namespace

Expected<RunReport> Session::Impl::timed_run(const Arranged& feeds,
                                             const ReportOptions& report_options,
                                             report::Facts& facts) const {
  if (report_options.runs < 0 || report_options.runs > kMaxRuns)
    return fail(Code::invalid_argument, "the number of runs of a report is {}, outside of [0, {}]",
                report_options.runs, kMaxRuns);
  const bool is_interpreted = options.execution == Execution::interpreted;
  RunOptions run_options = report_options.run;
  RunReport report;
  for (int i = 0; i <= report_options.runs; ++i) {
    report = {};
    run_options.profile = i == report_options.runs;
    const std::vector<report::LoopMeasured> before = measured(mutex, bound, feeds.shapes);
    auto results = is_interpreted ? run_interpreted(feeds, run_options, report)
                                  : run_bound(feeds, run_options, report);
    if (!results) return ir::with_size_names(results.error(), plan->module);
    // The first runs compile loops and touch memory for the first time; the fastest one is typical.
    const bool is_fastest = !facts.fastest_run || report.seconds < *facts.fastest_run;
    if (run_options.profile ? report_options.runs > 0 : !is_fastest) continue;
    if (!run_options.profile) facts.fastest_run = report.seconds;
    facts.measured = measured(mutex, bound, feeds.shapes);
    subtract(facts.measured, before);
  }
  return report;
}

report::StreamFacts Session::Impl::stream_facts(const Kept* kept) const {
  report::StreamFacts facts;
  const auto add = [&](const ir::Module& module, const std::vector<ValueInfo>& fed) {
    for (const ir::State& state : module.states) {
      facts.states.push_back(fed[state.input]);
      facts.states.back().name = state.name;
    }
  };
  if (kept != nullptr) facts.kept = kept->sizes;
  if (kept != nullptr || !plan->module.states.empty()) {
    facts.is_named = kept == nullptr || &kept->model == this;
    add(plan->module, inputs);
    return facts;
  }
  const auto made = stream_program();
  if (!made)
    facts.why_not = made.error().text();
  else
    add((*made)->steps->plan->module, (*made)->steps->inputs);
  return facts;
}

Expected<std::string> Session::Impl::report(const Reported& what,
                                            const ReportOptions& report_options) const {
  report::Facts facts;
  RunReport run;
  std::shared_ptr<BoundEntry> entry;
  if (what.feeds != nullptr) {
    SCANLOOM_TRY(run, timed_run(*what.feeds, report_options, facts));
    if (options.execution != Execution::interpreted) {
      SCANLOOM_TRY(entry, bind(what.feeds->shapes));
    }
  } else if (const auto known = known_bindings(); !known.empty()) {
    entry = known.front();
  }
  facts.module = &plan->module;
  const Impl& model = what.kept != nullptr ? what.kept->model : *this;
  facts.info = &model.info;
  facts.interface = {std::span(inputs).first(what.inputs), std::span(outputs).first(what.outputs),
                     model.files.empty() ? std::string() : file_name(model.files.front()),
                     what.is_function};
  facts.title = !report_options.title.empty()   ? report_options.title
                : !facts.interface.path.empty() ? facts.interface.path
                : !plan->module.name.empty()    ? plan->module.name
                                             : std::string(what.is_function ? "function" : "model");
  if (!what.is_function) facts.stream = stream_facts(what.kept);
  if (entry) add_binding(facts, *entry, what.inputs);
  if (what.feeds != nullptr) {
    facts.run = &run;
    facts.interface.values = fed_values(*what.feeds, facts.interface.inputs);
  }
  if (what.kept != nullptr)
    facts.pushed = pushed_interface(std::span(model.inputs).first(model.own_inputs), what.kept->use,
                                    facts.interface);
  facts.machine = known_figures();
  if (facts.machine)
    facts.roofline = [figures = *facts.machine](double bytes, double operations) {
      return min_seconds(figures, bytes, operations);
    };
  facts.explanation = explain();
  {
    const std::scoped_lock lock(mutex);
    facts.warnings = warnings;
  }
  const std::string data = report::data(facts);
  if (report_options.form == ReportForm::data) return data;
  return report::page(data);
}

Expected<std::string> report_page(std::string_view data) {
  return guard([&] { return report::page(data); });
}

Expected<std::string> Session::report(const ReportOptions& options) const {
  return guard(
      [&] { return impl_->report({nullptr, impl_->own_inputs, impl_->own_outputs}, options); });
}

Expected<std::string> Session::report(std::span<const Feed> feeds,
                                      const ReportOptions& options) const {
  return guard([&]() -> Expected<std::string> {
    SCANLOOM_TRY(const Arranged arranged, impl_->arrange(feeds));
    SCANLOOM_TRY(const std::shared_ptr<Impl> unshared, impl_->unshared_for(arranged.shapes));
    const Impl& runner = unshared ? *unshared : *impl_;
    return runner.report({&arranged, runner.own_inputs, runner.own_outputs}, options);
  });
}

}  // namespace scanloom
