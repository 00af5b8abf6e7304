// scanloom version: says what is installed, and on what machine; for bug reports.
#include <iostream>
#include <memory>

#include <CLI/CLI.hpp>

#include <scanloom/environment.h>
#include <scanloom/session.h>

#include "commands.h"
#include "failure.h"
#include "json_text.h"
#include "plain_text.h"

namespace scanloom::cli {
namespace {

struct VersionArgs {
  bool verbose = false;
  bool json = false;
};

nlohmann::ordered_json json_of(const Environment::Plugin& plugin) {
  if (plugin.holds.empty()) return {{"missing", plugin.why_not}};
  return {{"holds", plugin.holds}, {"path", plugin.path}};
}

void print_json(const Environment& about) {
  nlohmann::ordered_json out = {
      {"version", about.version},
      {"library", about.library},
      {"build", about.build},
      {"compiler", about.compiler},
      {"loop_compiler", json_of(about.loop_compiler)},
      {"images", json_of(about.images)},
      {"isa", about.isa},
      {"isas", about.isas},
      {"threads", about.threads},
      {"cores", about.cores},
      {"cpu", about.cpu},
      {"architecture", about.architecture},
      {"system", about.system},
      {"kernel", about.kernel},
      {"c_library", about.c_library},
      {"calibration", about.calibration},
      {"is_calibrated", about.is_calibrated},
      {"settings", nlohmann::ordered_json::object()},
      {"warnings", about.warnings},
  };
  for (const auto& [name, value] : about.settings) out["settings"][name] = value;
  std::cout << json_text(out);
}

void print_version(const VersionArgs& args) {
  if (args.json)
    print_json(environment().value_or_throw());
  else if (args.verbose)
    std::cout << plain_text(to_text(environment().value_or_throw()).value_or_throw());
  else
    std::cout << version() << '\n';
}

}  // namespace

void add_version(CLI::App& app, int& status) {
  auto args = std::make_shared<VersionArgs>();
  CLI::App* command = app.add_subcommand("version", "says what is installed, for bug reports");
  command->add_flag("--verbose", args->verbose,
                    "add the plug-ins, the machine, and the settings that change how models run");
  command->add_flag("--json", args->json, "print all of it as JSON");
  command->footer("Example: scanloom version --verbose");
  command->callback([args, &status] {
    print_version(*args);
    status = kFine;
  });
}

}  // namespace scanloom::cli
