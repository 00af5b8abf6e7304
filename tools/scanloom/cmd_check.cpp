// scanloom check: reports everything that is wrong with a model.
#include <filesystem>
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include <scanloom/session.h>

#include "commands.h"
#include "failure.h"
#include "json_text.h"
#include "options.h"
#include "plain_text.h"

namespace scanloom::cli {
namespace {

struct CheckArgs {
  ModelArgs model;
  bool json = false;
};

void print_json(const CheckReport& report) {
  nlohmann::ordered_json out = {{"fine", report.errors.empty()},
                                {"errors", nlohmann::ordered_json::array()},
                                {"warnings", report.warnings}};
  for (const Error& error : report.errors) out["errors"].push_back(json_of(error));
  std::cout << json_text(out);
}

int check_model(const CheckArgs& args) {
  const std::string& path = args.model.path;
  if (!std::filesystem::exists(path)) fail(Code::not_found, "there is no file " + path);
  if (std::filesystem::is_directory(path))
    fail(Code::not_found, path + " is a folder, not a model");
  SessionOptions options = session_options(args.model);
  options.on_warning = nullptr;  // the report includes the warnings
  const CheckReport report = check(path, options);
  const int status = report.errors.empty() ? kFine : kDiffers;
  if (args.json) {
    print_json(report);
    return status;
  }
  for (const std::string& warning : report.warnings)
    std::cerr << "warning: " << plain_line(warning) << '\n';
  for (const Error& error : report.errors) cli::report(error);
  const std::size_t count = report.errors.size();
  if (count == 0)
    std::cout << path << ": fine\n";
  else
    std::cout << path << ": " << count << (count == 1 ? " error\n" : " errors\n");
  return status;
}

}  // namespace

void add_check(CLI::App& app, int& status) {
  auto args = std::make_shared<CheckArgs>();
  CLI::App* command = app.add_subcommand("check", "lists all problems of a model");
  add_model_options(*command, args->model);
  command->add_flag("--json", args->json, "print the report as JSON");
  command->footer("Example: scanloom check detector.onnx");
  command->callback([args, &status] { status = check_model(*args); });
}

}  // namespace scanloom::cli
