#include "passes/run.h"

#include <algorithm>
#include <chrono>

#include "base/unknown_name.h"
#include "ir/infer.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "passes/former_names.h"

namespace scanloom::passes {
namespace {

constexpr PassDef kPasses[] = {
#define SCANLOOM_PASS(name, doc) {#name, doc, &name},
#define SCANLOOM_LAST_PASS(name, may_change, doc) {#name, doc, &name, &may_change},
#define SCANLOOM_FAST_PASS(name, may_change, doc) {#name, doc, &name, &may_change, true},
#include "passes/list.inc"
#undef SCANLOOM_PASS
#undef SCANLOOM_LAST_PASS
#undef SCANLOOM_FAST_PASS
};

Expected<void> check_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (find_pass(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const PassDef& pass : kPasses) known.emplace_back(pass.name);
    return unknown_name("pass", "passes", name, known);
  }
  return {};
}

Expected<Change> run_one(const PassDef& pass, ir::Module& module, PassTiming& timing) {
  const auto begin = std::chrono::steady_clock::now();
  auto change = pass.run(module);
  const auto end = std::chrono::steady_clock::now();
  timing.nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
  if (!change) return std::move(change).error().note(fmt::format("in pass {}", pass.name));
  timing.changed += change->changed;
  return change;
}

/// Runs once, in order, either the passes that run last (`last`) or all others.
Expected<Change> run_round(ir::Module& module, bool last, const RunOptions& options,
                           RunReport& report) {
  Change round;
  for (std::size_t i = 0; i < std::size(kPasses); ++i) {
    const PassDef& pass = kPasses[i];
    if (pass.is_last() != last || is_left_out(pass, options)) continue;
    SCANLOOM_TRY(const Change change, run_one(pass, module, report.timings[i]));
    round |= change;
    if (!change.changed) continue;
    if (options.verify_each)
      if (auto sound = ir::verify(module); !sound)
        return std::move(sound).error().note(fmt::format("after pass {}", pass.name));
    if (options.dump) options.dump(pass, report.rounds, module);
  }
  return round;
}

/// The passes that run last change a copy, so that streams find the original loops.
Expected<void> run_last(ir::Module& module, const RunOptions& options, RunReport& report) {
  const bool worth_a_copy = std::ranges::any_of(kPasses, [&](const PassDef& pass) {
    return pass.is_last() && !is_left_out(pass, options) && pass.may_change(module);
  });
  if (!worth_a_copy) return {};
  ir::Module changed = module;
  SCANLOOM_TRY(const Change change, run_round(changed, true, options, report));
  if (!change.changed) return {};
  SCANLOOM_CHECK_OK(ir::infer_types(changed));
  report.for_streams = ir::compact(std::exchange(module, std::move(changed)));
  return {};
}

}  // namespace

std::span<const PassDef> all_passes() { return kPasses; }

std::string_view pass_that_sums(const RunReport& report) {
  constexpr std::string_view kSumming[] = {"accumulate_as_product", "affine_backward"};
  for (const PassTiming& timing : report.timings)
    if (timing.changed > 0 && std::ranges::find(kSumming, timing.pass) != std::end(kSumming))
      return timing.pass;
  return {};
}

const PassDef* find_pass(std::string_view name) {
  const auto* found = std::ranges::find(kPasses, current_name(name), &PassDef::name);
  return found != std::end(kPasses) ? found : nullptr;
}

bool is_named(std::string_view pass, const std::vector<std::string>& names) {
  return std::ranges::find(names, pass, current_name) != names.end();
}

bool is_left_out(const PassDef& pass, const RunOptions& options) {
  return (pass.is_fast && !options.fast) || is_named(pass.name, options.disabled);
}

Expected<RunReport> run(ir::Module& module, const RunOptions& options) {
  SCANLOOM_CHECK_OK(check_names(options.disabled));
  RunReport report;
  for (const PassDef& pass : kPasses) report.timings.push_back({.pass = pass.name});
  Change change{.changed = true};
  while (change.changed && report.rounds < options.max_rounds) {
    SCANLOOM_TRY(change, run_round(module, false, options, report));
    ++report.rounds;
    // Folding and removal may have made sizes known, which the next round can use.
    if (change.changed) SCANLOOM_CHECK_OK(ir::infer_types(module));
  }
  report.settled = !change.changed;
  SCANLOOM_CHECK_OK(run_last(module, options, report));
  module = ir::compact(module);
  return report;
}

}  // namespace scanloom::passes
