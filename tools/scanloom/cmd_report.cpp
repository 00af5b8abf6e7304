// scanloom report: writes a page that shows a model and where the time of a run goes.
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <scanloom/session.h>
#include <scanloom/shell_word.h>

#include "calibration.h"
#include "commands.h"
#include "failure.h"
#include "feeds.h"
#include "interrupt.h"
#include "options.h"
#include "output_file.h"
#include "plain_text.h"
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

/// "'x', 'state'", of many the first.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i)
    text += (i == 0 ? "'" : ", '") + plain_line(names[i]) + "'";
  return names.size() > kMaxNames ? text + ", ..." : text;
}

/// Returns what was made up, and the options that give it, as notes.
std::vector<std::string> notes_of(const MadeUp& made_up) {
  std::vector<std::string> notes;
  if (!made_up.values.empty())
    notes.push_back("random numbers were fed to " + listed(made_up.values) + "; --feed " +
                    shell_word(made_up.values[0] + "=...") + " gives the values");
  if (!made_up.sizes.empty())
    notes.push_back("the size 1 was taken for " + listed(made_up.sizes) + "; --dim " +
                    shell_word(made_up.sizes[0] + "=SIZE") + " sets it");
  return notes;
}

/// Adds what may help after a run that failed. Limits and Ctrl-C explain themselves.
Error with_notes(Error error, const MadeUp& made_up) {
  if (error.code() == Code::cancelled || error.code() == Code::limit_reached) return error;
  for (const std::string& note : notes_of(made_up)) error.note(note);
  return std::move(error.note("--no-run shows the model without running it"));
}

/// Runs the model, unless asked not to, and returns the data. Sets `made_up`.
std::string data_of_report(const ReportArgs& args, const Session& session, MadeUp& made_up) {
  ReportOptions options;
  options.form = ReportForm::data;
  options.title = args.title;
  options.runs = args.runs;
  options.run = run_options(args.limits);
  const Waiting waiting((args.no_run ? "describing " : "running ") + args.model.path);
  if (args.no_run) return session.report(options).value_or_throw();
  FeedArgs feeds = args.feeds;
  feeds.random = true;
  const std::vector<NamedView> tensors =
      make_feeds(session, feeds, args.limits.max_memory, &made_up);
  auto text = session.report(as_feeds(tensors), options);
  if (!text) throw Failure(with_notes(std::move(text).error(), made_up));
  return *std::move(text);
}

/// Adds what was made up, which only this program knows, to the data.
std::string with_made_up(const std::string& data, const MadeUp& made_up) {
  if (made_up.values.empty() && made_up.sizes.empty()) return data;
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(data);
  json["made_up"] = {{"values", made_up.values}, {"sizes", made_up.sizes}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

/// Whether the data are written instead of the page.
bool writes_data(const ReportArgs& args) {
  std::string extension = std::filesystem::path(args.out).extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return args.json || extension == ".json";
}

void report(const ReportArgs& args) {
  const bool is_data = writes_data(args);
  const std::string path = args.out.empty() && !is_data ? "report.html" : args.out;
  expect_writable("--out", path);
  const Session session = load(args.model);
  expect_not_read("--out", path, session, args.feeds);
  if (args.calibrate) calibrated();
  MadeUp made_up;
  const std::string data = with_made_up(data_of_report(args, session, made_up), made_up);
  end_if_interrupted();
  const std::string text = is_data ? data : report_page(data).value_or_throw();
  for (const std::string& note : notes_of(made_up)) std::cerr << "note: " << note << '\n';
  if (path.empty() || path == "-") {
    std::cout << text << '\n';
    return;
  }
  write_file(path, text);
  std::cerr << "note: written to " << path << (is_data ? "\n" : "; open it in a browser\n");
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
                      "file for the page (default: report.html), or for its data if its name\n"
                      "ends in .json; - for stdout");
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
