#include "passes/run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>

#include "base/unknown_name.h"
#include "ir/infer.h"
#include "ir/verify.h"
#include "ir/walk.h"
#include "passes/former_names.h"
#include "passes/loops/chosen_loops.h"

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

/// Which passes a round consists of.
enum class Stage : std::uint8_t {
  rounds,    ///< those that run until nothing changes; some short loops wait
  unrolled,  ///< the same once these loops have been unrolled, and no sums are looked for
  last,      ///< those that run last
};

bool belongs_to(const PassDef& pass, Stage stage) {
  if (stage == Stage::unrolled && pass.run == &accumulate_as_product) return false;
  return pass.is_last() == (stage == Stage::last);
}

/// Runs passes one by one, and keeps the report.
class Runner {
 public:
  Runner(ir::Module& module, const RunOptions& options, RunReport& report)
      : module_(module), options_(options), report_(report) {}

  /// Runs rounds until nothing changes.
  Expected<void> settle(Stage stage) {
    Change change{.changed = true};
    for (int rounds = 0; change.changed && rounds < options_.max_rounds; ++rounds) {
      SCANLOOM_TRY(change, round(stage));
      ++report_.rounds;
      // Folding and removal may have made sizes known, which the next round can use.
      if (change.changed) SCANLOOM_CHECK_OK(ir::infer_types(module_));
    }
    report_.settled &= !change.changed;
    return {};
  }

  /// Runs all passes of the stage once, in order.
  Expected<Change> round(Stage stage) {
    Change changed;
    for (const PassDef& pass : kPasses) {
      if (!belongs_to(pass, stage) || is_left_out(pass, options_)) continue;
      SCANLOOM_TRY(const Change change, run(pass, function_of(pass, stage)));
      changed |= change;
    }
    return changed;
  }

  /// Unrolls the loops that have waited for the passes that change bits, and runs the others on
  /// their steps. accumulate_as_product has had its turn, the fast passes have it now.
  Expected<void> unroll_waiting() {
    if (is_left_out(*find_pass("unroll_short_loop"), options_)) return {};
    const std::set<ir::NodeId> loops = short_loops(module_);
    if (loops.empty()) return {};
    const WhichLoops which = [&](ir::NodeId loop) { return loops.contains(loop); };
    SCANLOOM_CHECK_OK(run_on("linear_recurrences", &linear_recurrences_in, which));
    SCANLOOM_CHECK_OK(run_on("fuse_multiply_add", &fuse_multiply_add_in, which));
    SCANLOOM_CHECK_OK(run_on("unroll_short_loop", &unroll_loops, which));
    SCANLOOM_CHECK_OK(ir::infer_types(module_));
    return settle(Stage::unrolled);
  }

 private:
  using Function = std::function<Expected<Change>(ir::Module&)>;

  [[nodiscard]] Function function_of(const PassDef& pass, Stage stage) const {
    if (pass.run != &unroll_short_loop) return pass.run;
    return [this, stage](ir::Module& module) {
      return unroll_loops(module, [&](ir::NodeId loop) {
        return stage == Stage::unrolled || !waits_to_unroll(module, loop, options_.fast);
      });
    };
  }

  Expected<void> run_on(std::string_view name,
                        Expected<Change> (*function)(ir::Module&, const WhichLoops&),
                        const WhichLoops& which) {
    const PassDef& pass = *find_pass(name);
    if (is_left_out(pass, options_)) return {};
    SCANLOOM_CHECK_OK(run(pass, [&](ir::Module& module) { return function(module, which); }));
    return {};
  }

  Expected<Change> run(const PassDef& pass, const Function& function) {
    PassTiming& timing = report_.timings[static_cast<std::size_t>(&pass - kPasses)];
    const auto begin = std::chrono::steady_clock::now();
    auto change = function(module_);
    const auto end = std::chrono::steady_clock::now();
    timing.nanoseconds += std::chrono::duration_cast<std::chrono::nanoseconds>(end - begin).count();
    if (!change) return std::move(change).error().note(fmt::format("in pass {}", pass.name));
    timing.changed += change->changed;
    if (!change->changed) return change;
    if (options_.verify_each)
      if (auto sound = ir::verify(module_); !sound)
        return std::move(sound).error().note(fmt::format("after pass {}", pass.name));
    if (options_.dump) options_.dump(pass, report_.rounds, module_);
    return change;
  }

  ir::Module& module_;
  const RunOptions& options_;
  RunReport& report_;
};

/// The passes that run last change a copy, so that streams find the original loops.
Expected<void> run_last(ir::Module& module, const RunOptions& options, RunReport& report) {
  const bool worth_a_copy = std::ranges::any_of(kPasses, [&](const PassDef& pass) {
    return pass.is_last() && !is_left_out(pass, options) && pass.may_change(module);
  });
  if (!worth_a_copy) return {};
  ir::Module changed = module;
  SCANLOOM_TRY(const Change change, Runner(changed, options, report).round(Stage::last));
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
  Runner runner(module, options, report);
  SCANLOOM_CHECK_OK(runner.settle(Stage::rounds));
  SCANLOOM_CHECK_OK(runner.unroll_waiting());
  SCANLOOM_CHECK_OK(run_last(module, options, report));
  module = ir::compact(module);
  return report;
}

}  // namespace scanloom::passes
