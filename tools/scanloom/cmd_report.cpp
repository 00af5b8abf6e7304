// scanloom report: writes a page that shows a model and where the time of a run goes.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include <scanloom/session.h>

#include "calibration.h"
#include "commands.h"
#include "failure.h"
#include "feeds.h"
#include "interrupt.h"
#include "npy_format.h"
#include "options.h"
#include "output_file.h"
#include "progress_line.h"
#include "validators.h"

namespace scanloom::cli {
namespace {

struct ReportArgs {
  ModelArgs model;
  FeedArgs feeds;
  LimitArgs limits;
  std::string out;
  std::string title;
  int runs = 2;
  bool no_run = false;
  bool calibrate = false;
  bool json = false;
};

/// Runs the model, unless asked not to, and returns the page or its data.
std::string text_of_report(const ReportArgs& args, const Session& session) {
  ReportOptions options;
  options.form = args.json ? ReportForm::data : ReportForm::page;
  options.title = args.title;
  options.runs = args.runs;
  options.run = run_options(args.limits);
  const Waiting waiting((args.no_run ? "describing " : "running ") + args.model.path);
  if (args.no_run) return session.report(options).value_or_throw();
  FeedArgs feeds = args.feeds;
  feeds.random = true;
  const std::vector<NamedView> tensors = make_feeds(session, feeds, args.limits.max_memory);
  auto text = session.report(as_feeds(tensors), options);
  if (!text)
    throw Failure(std::move(text).error().note("--no-run shows the model without running it"));
  return *std::move(text);
}

void report(const ReportArgs& args) {
  const Session session = load(args.model);
  const std::string path = args.out.empty() && !args.json ? "report.html" : args.out;
  expect_not_read("--out", path, session, args.feeds);
  if (args.calibrate) calibrated();
  const std::string text = text_of_report(args, session);
  end_if_interrupted();
  if (path.empty() || path == "-") {
    std::cout << text << '\n';
    return;
  }
  write_file(path, text);
  std::cerr << "note: written to " << path << (args.json ? "\n" : "; open it in a browser\n");
}

}  // namespace

void add_report(CLI::App& app, int&) {
  auto args = std::make_shared<ReportArgs>();
  CLI::App* command = app.add_subcommand(
      "report", "writes a page that shows a model, its loops, and where time and memory go");
  add_model_options(*command, args->model);
  add_threads_option(*command, args->model);
  add_feed_options(*command, args->feeds);
  add_limit_options(*command, args->limits);
  command->add_option("-o,--out", args->out,
                      "file for the page (default: report.html), or - for stdout");
  command->add_option("--title", args->title, "title of the page (default: the model's file)");
  command->add_option("--runs", args->runs, "runs before the one that is timed node by node")
      ->check(whole_number(0, 1000))
      ->capture_default_str();
  command->add_flag("--no-run", args->no_run, "show the model without running it")
      ->excludes(command->get_option("--feed"))
      ->excludes(command->get_option("--dim"));
  command->add_flag("--calibrate", args->calibrate,
                    "measure the machine first, for the roofline; takes a second, and is kept");
  command->add_flag("--json", args->json,
                    "write the data of the page instead; to stdout without -o");
  command->footer("Example: scanloom report qlstm.onnx --dim T=100 -o report.html");
  command->callback([args] { report(*args); });
}

}  // namespace scanloom::cli
