// scanloom run: runs a model on feeds and prints or writes the results.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>

#include <scanloom/session.h>

#include "commands.h"
#include "element.h"
#include "failure.h"
#include "feeds.h"
#include "interrupt.h"
#include "json_text.h"
#include "npy.h"
#include "options.h"
#include "output_file.h"
#include "plain_text.h"
#include "profile_text.h"
#include "progress_line.h"
#include "validators.h"
#include "value_file.h"

namespace scanloom::cli {
namespace {

struct RunArgs {
  ModelArgs model;
  FeedArgs feeds;
  LimitArgs limits;
  std::string out;
  std::string trace = "scanloom-trace.json";
  std::vector<std::string> outputs;
  int repeat = 1;
  bool profile = false;
  bool json = false;
};

/// Adds the tensors of a value: itself, or its items as "name.0", "name.1", ..., or the keys and
/// values of a map as "name.keys" and "name.values".
void add_tensors(const std::string& name, const View& view, std::vector<NamedView>& tensors) {
  if (view.kind == ValueKind::tensor) tensors.emplace_back(name, view);
  if (view.kind == ValueKind::map) {
    add_tensors(name + ".keys", view.items[0], tensors);
    return add_tensors(name + ".values", view.items[1], tensors);
  }
  for (std::size_t i = 0; i < view.items.size(); ++i)
    add_tensors(name + "." + std::to_string(i), view.items[i], tensors);
}

void save(const RunArgs& args, const Results& results) {
  if (args.out.ends_with(".npy")) {
    if (!results[0].is_tensor())
      fail(Code::invalid_argument, "--out: a .npy file holds one tensor, the result is a " +
                                       value_text(results[0].view()) + "; name it .npz");
    return write_npy(args.out, results[0].view());
  }
  std::vector<NamedView> tensors;
  for (std::size_t i = 0; i < results.size(); ++i)
    add_tensors(results.name(i), results[i].view(), tensors);
  write_npz(args.out, tensors);
}

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

void print_results(const RunArgs& args, const Session& session, const Results& results,
                   double seconds) {
  std::size_t name_width = 6, type_width = 10;
  for (std::size_t i = 0; i < results.size(); ++i) {
    name_width = std::max(name_width, plain_line(results.name(i)).size());
    type_width = std::max(type_width, value_text(results[i].view()).size());
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Value& value = results[i];
    const bool saved = !args.out.empty() && value.elements() > 1;
    std::cout << std::left << std::setw(static_cast<int>(name_width)) << plain_line(results.name(i))
              << "  " << std::setw(static_cast<int>(type_width)) << value_text(value.view()) << "  "
              << (saved ? "-> " + args.out : elements_text(value.view())) << '\n';
  }
  int branches = 0, loops = 0;
  for (const auto& [name, count] : session.operators()) {
    if (name == "branch") branches = count;
    if (name == "loop") loops = count;
  }
  std::cout << counted(args.repeat, "run", "runs") << " in " << time_text(seconds) << "; "
            << counted(branches, "branch", "branches") << ", " << counted(loops, "loop", "loops");
  if (results.report.steps > 0) std::cout << ", " << counted(results.report.steps, "step", "steps");
  std::cout << '\n';
}

void print_json(const Results& results, int runs, double seconds) {
  nlohmann::ordered_json out;
  for (std::size_t i = 0; i < results.size(); ++i)
    out["outputs"][results.name(i)] = json_of(results[i].view());
  out["runs"] = runs;
  out["seconds"] = seconds;
  out["steps"] = results.report.steps;
  for (const NodeTime& row : results.report.profile)
    out["profile"].push_back({{"node", row.node},
                              {"kernel", row.kernel},
                              {"calls", row.calls},
                              {"seconds", row.seconds},
                              {"depth", row.depth}});
  std::cout << json_text(out);
}

/// Fails for a repeated name, because an archive holds each name once.
void check_outputs(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    fail(Code::invalid_argument, "--output: '" + *twice + "' is named twice");
}

/// Throws Failure, before anything runs, if a file to write is one that is read, if both are the
/// same, or if the file of the results cannot hold as many.
void check_files(const RunArgs& args, const Session& session) {
  const std::size_t results = args.outputs.empty() ? session.outputs().size() : args.outputs.size();
  if (args.out.ends_with(".npy") && results != 1)
    fail(Code::invalid_argument, "--out: a .npy file holds one result, there are " +
                                     std::to_string(results) + "; name it .npz");
  expect_not_read("--out", args.out, session, args.feeds);
  if (!args.profile) return;
  expect_not_read("--trace", args.trace, session, args.feeds);
  if (!args.out.empty() && is_same_file(args.out, args.trace))
    fail(Code::invalid_argument, "--trace: '" + args.trace + "' is the file of --out, too");
}

/// Runs the model as often as asked and returns the last results. Adds the times to `seconds`.
Results run_repeatedly(const RunArgs& args, const Session& session, std::span<const Feed> feeds,
                       double& seconds) {
  RunOptions options = run_options(args.limits);
  options.profile = args.profile;
  Repeats repeats(args.repeat);
  // Before the first step, sizes are bound and loops compiled; other models have no steps at all.
  std::optional<Waiting> waiting("running " + args.model.path);
  if (draws_lines())
    options.progress = [&](const Progress& progress) {
      waiting.reset();
      repeats.within(progress);
    };
  Results results;
  for (int i = 0; i < args.repeat; ++i) {
    results = session.run(feeds, options, args.outputs).value_or_throw();
    waiting.reset();
    seconds += results.report.seconds;
    repeats.end_of_run();
    end_if_interrupted();
  }
  return results;
}

void run(const RunArgs& args) {
  check_outputs(args.outputs);
  expect_writable("--out", args.out);
  if (args.profile) expect_writable("--trace", args.trace);
  const Session session = load(args.model);
  check_files(args, session);
  const std::vector<NamedView> tensors = make_feeds(session, args.feeds, args.limits.max_memory);
  const std::vector<Feed> feeds = as_feeds(tensors);
  double seconds = 0;
  const Results results = run_repeatedly(args, session, feeds, seconds);
  if (!args.out.empty()) save(args, results);
  if (args.json)
    print_json(results, args.repeat, seconds);
  else
    print_results(args, session, results, seconds);
  if (!args.profile) return;
  if (args.model.interpret) {
    std::cerr << "note: --profile times no nodes of an interpreted run\n";
    return;
  }
  write_trace(args.trace, results.report);
  if (args.json) return;
  std::cout << '\n'
            << profile_table(results.report) << "trace written to " << args.trace
            << " (open it in chrome://tracing or Perfetto)\n";
}

}  // namespace

void add_run(CLI::App& app, int&) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* command = app.add_subcommand("run", "runs a model and prints or stores its results");
  add_model_options(*command, args->model);
  add_threads_option(*command, args->model);
  add_feed_options(*command, args->feeds);
  add_limit_options(*command, args->limits);
  command->add_option("--out", args->out, "file for the results: .npz, or .npy for a single one")
      ->check([](const std::string& name) {
        return name.ends_with(".npz") || name.ends_with(".npy") ? "" : "must end in .npz or .npy";
      });
  command->add_option("--output", args->outputs, "print only this result; may be repeated");
  command->add_option("--repeat", args->repeat, "run this many times and use the last results")
      ->check(whole_number(1, 1000000000));
  command->add_flag("--profile", args->profile, "print the time of every node, and write a trace");
  command->add_option("--trace", args->trace, "file for the trace; implies --profile")
      ->capture_default_str()
      ->each([args](const std::string&) { args->profile = true; });
  command->add_flag("--json", args->json, "print the results as JSON, with all digits");
  command->footer(
      "Example: scanloom run silero_vad.onnx --feed input=chunk.npy --feed state=zeros \\\n"
      "             --feed sr=16000 --out result.npz\n"
      "         scanloom run filter.scanloom --feed 'x=[1, 0.5, 0.25]'");
  command->callback([args] { run(*args); });
}

}  // namespace scanloom::cli
