// scanloom bench: measures the time of a run and of a step.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include <scanloom/machine.h>
#include <scanloom/session.h>

#include "calibration.h"
#include "commands.h"
#include "feeds.h"
#include "interrupt.h"
#include "json_text.h"
#include "options.h"
#include "profile_text.h"
#include "progress_line.h"
#include "validators.h"

namespace scanloom::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArgs {
  ModelArgs model;
  FeedArgs feeds;
  LimitArgs limits;
  std::vector<int> threads;
  int repeat = 0;
  double seconds = 1;
  bool json = false;
  bool calibrate = false;
};

/// All times are in seconds.
struct Measured {
  int threads = 0;
  std::size_t runs = 0;
  std::int64_t steps = 0;
  double load = 0, first = 0, least = 0, median = 0, p95 = 0, p99 = 0;
};

/// Returns a percentile of `times`, which must be sorted.
double percentile(const std::vector<double>& times, std::size_t percent) {
  return times[std::min(times.size() - 1, times.size() * percent / 100)];
}

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Measured measure(const BenchArgs& args, int threads) {
  ModelArgs model = args.model;
  model.threads = threads;
  Measured measured;
  measured.threads = threads;
  std::optional<Waiting> waiting("loading " + model.path);
  auto begin = Clock::now();
  const Session session = Session::load(model.path, session_options(model)).value_or_throw();
  measured.load = since(begin);
  waiting.reset();
  FeedArgs feed_args = args.feeds;
  feed_args.random = true;
  const std::vector<NamedView> tensors = make_feeds(session, feed_args, args.limits.max_memory);
  const std::vector<Feed> feeds = as_feeds(tensors);
  const RunOptions options = run_options(args.limits);
  waiting.emplace("first run of " + model.path);
  begin = Clock::now();
  measured.steps = session.run(feeds, options).value_or_throw().report.steps;
  measured.first = since(begin);
  waiting.reset();
  Repeats repeats(args.repeat, args.seconds);
  std::vector<double> times;
  const auto more = [&, start = Clock::now()] {
    const auto least = static_cast<std::size_t>(args.repeat > 0 ? args.repeat : 3);
    return times.size() < least || (args.repeat == 0 && since(start) < args.seconds);
  };
  while (more()) {
    begin = Clock::now();
    session.run(feeds, options).value_or_throw();
    times.push_back(since(begin));
    repeats.end_of_run();
    end_if_interrupted();
  }
  std::sort(times.begin(), times.end());
  measured.runs = times.size();
  measured.least = times.front();
  measured.median = percentile(times, 50);
  measured.p95 = percentile(times, 95);
  measured.p99 = percentile(times, 99);
  return measured;
}

nlohmann::ordered_json json_of_measured(const Measured& row) {
  nlohmann::ordered_json out = {
      {"threads", row.threads},       {"runs", row.runs},           {"steps", row.steps},
      {"load_seconds", row.load},     {"first_seconds", row.first}, {"min_seconds", row.least},
      {"median_seconds", row.median}, {"p95_seconds", row.p95},     {"p99_seconds", row.p99}};
  if (row.steps > 0) out["median_seconds_per_step"] = row.median / static_cast<double>(row.steps);
  return out;
}

void print_header() {
  std::printf("%7s %8s %10s %10s %10s %10s %10s %10s %10s %10s\n", "threads", "runs", "load",
              "first", "min", "median", "p95", "p99", "per step", "steps");
}

void print_row(const Measured& row) {
  const std::string threads = row.threads == 0 ? "all" : std::to_string(row.threads);
  const std::string step =
      row.steps > 0 ? time_text(row.median / static_cast<double>(row.steps)) : "-";
  std::printf("%7s %8zu %10s %10s %10s %10s %10s %10s %10s %10lld\n", threads.c_str(), row.runs,
              time_text(row.load).c_str(), time_text(row.first).c_str(),
              time_text(row.least).c_str(), time_text(row.median).c_str(),
              time_text(row.p95).c_str(), time_text(row.p99).c_str(), step.c_str(),
              static_cast<long long>(row.steps));
  std::fflush(stdout);
}

std::string size_text(std::int64_t bytes) {
  return bytes >= 1 << 20 ? std::to_string(bytes >> 20) + " MiB"
                          : std::to_string(bytes >> 10) + " KiB";
}

void print_figures(const MachineFigures& figures, bool json) {
  if (json) {
    auto levels = nlohmann::ordered_json::array();
    for (const MachineFigures::Level& level : figures.levels)
      levels.push_back({{"bytes", level.bytes}, {"bytes_per_second", level.bytes_per_second}});
    std::cout << json_text({{"cpu", figures.cpu},
                            {"isa", figures.isa},
                            {"operations_per_second", figures.operations_per_second},
                            {"levels", levels}});
    return;
  }
  std::printf("%s, %s, one core\n", figures.cpu.c_str(), figures.isa.c_str());
  std::printf("%8.1f GFLOP/s  float32 products\n", figures.operations_per_second * 1e-9);
  for (const MachineFigures::Level& level : figures.levels)
    std::printf("%8.1f GB/s     reading %s again and again\n", level.bytes_per_second * 1e-9,
                size_text(level.bytes).c_str());
}

void bench(const BenchArgs& args) {
  if (args.calibrate) print_figures(calibrated(), args.json);
  if (args.model.path.empty()) return;
  std::vector<int> threads = args.threads;
  if (threads.empty()) threads = {0};
  auto out = nlohmann::ordered_json::array();
  bool first = true;
  for (const int count : threads) {
    const Measured row = measure(args, count);
    if (args.json) {
      out.push_back(json_of_measured(row));
      continue;
    }
    if (std::exchange(first, false)) print_header();
    print_row(row);
  }
  if (args.json) std::cout << json_text(out);
}

}  // namespace

void add_bench(CLI::App& app, int&) {
  auto args = std::make_shared<BenchArgs>();
  CLI::App* command =
      app.add_subcommand("bench", "measures a model; inputs without a feed get random numbers");
  add_model_options(*command, args->model);
  add_feed_options(*command, args->feeds);
  add_limit_options(*command, args->limits);
  command->add_option("--threads", args->threads, "thread counts to measure, such as 1,2")
      ->delimiter(',')
      ->check(whole_number(1, 4096));
  command->add_option("--repeat", args->repeat, "exactly this many runs")
      ->check(whole_number(1, 1000000000));
  command->add_option("--seconds", args->seconds, "run for this long")
      ->check(positive())
      ->capture_default_str();
  command->add_flag("--json", args->json, "the measurements as JSON, in seconds");
  command->add_flag("--calibrate", args->calibrate,
                    "measure the peak speed of a core, in about a second, and store it for "
                    "`explain`; needs no model");
  command->get_option("model")->required(false);
  command->parse_complete_callback([args] {
    if (args->model.path.empty() && !args->calibrate) throw CLI::RequiredError("model");
  });
  command->footer("Example: scanloom bench model.onnx --dim T=1000 --threads 1,2 --json");
  command->callback([args] { bench(*args); });
}

}  // namespace scanloom::cli
