// scanloom: the command line. Errors become exit statuses only here.
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <scanloom/nearest_name.h>
#include <scanloom/session.h>

#include "commands.h"
#include "failure.h"
#include "folders.h"

namespace {

/// Returns the option, with its dashes, that is closest to `text`; empty if there is none.
std::string meant_option(const CLI::App& command, const std::string& text) {
  if (!text.starts_with("--")) return {};
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options())
    names.insert(names.end(), option->get_lnames().begin(), option->get_lnames().end());
  const std::string word = text.substr(2, text.find('=') - 2);
  const std::string name = scanloom::nearest_name(word, names);
  return name.empty() ? name : "--" + name;
}

std::string meant_command(const CLI::App& app, const std::string& text) {
  std::vector<std::string> names;
  for (const CLI::App* const command : app.get_subcommands(nullptr))
    names.push_back(command->get_name());
  return scanloom::nearest_name(text, names);
}

/// Returns a suggestion for the first unknown argument; empty if there is none.
std::string meant(const CLI::App& app) {
  const std::vector<CLI::App*> commands = app.get_subcommands();
  const CLI::App& used = commands.empty() ? app : *commands.front();
  for (const std::string& text : used.remaining()) {
    if (commands.empty() && !text.starts_with("-")) return meant_command(app, text);
    if (std::string option = meant_option(used, text); !option.empty()) return option;
  }
  return {};
}

/// Reports wrong usage. The parser does not name unknown commands itself.
int refuse(const CLI::App& app, const CLI::ParseError& wrong) {
  std::string text = wrong.what();
  const std::vector<std::string> rest = app.remaining();
  if (app.get_subcommands().empty() && rest.empty()) text = "no command was given";
  if (app.get_subcommands().empty() && !rest.empty())
    text = (rest[0].starts_with("-") ? "unknown option '" : "unknown command '") + rest[0] + "'";
  scanloom::Error error(scanloom::Code::invalid_argument, text);
  if (const std::string name = meant(app); !name.empty())
    error.note("did you mean '" + name + "'?");
  return scanloom::cli::report(std::move(error).note(
      "'scanloom --help' and 'scanloom COMMAND --help' show the possibilities"));
}

/// Adds an option that prints a folder and ends the program, as --version does.
void add_folder(CLI::App& app, const std::string& name, std::string (*folder)(),
                const std::string& help) {
  app.add_flag_callback(name, [folder] { throw CLI::CallForVersion(folder(), 0); }, help);
}

bool is_command(const CLI::App& app, const std::string& name) {
  return std::ranges::any_of(app.get_subcommands(nullptr),
                             [&](const CLI::App* command) { return command->get_name() == name; });
}

/// Parses the arguments; `help COMMAND` is `COMMAND --help`.
void parse(CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    if (words.empty() || is_command(app, words[0])) words.emplace_back("--help");
  }
  std::ranges::reverse(words);  // as the parser takes them
  app.parse(std::move(words));
}

int run(int argc, char** argv) {
  namespace cli = scanloom::cli;
  int status = cli::kFine;
  CLI::App app("Runs, checks and measures models with loops.", "scanloom");
  app.set_version_flag("-V,--version", std::string(scanloom::version()));
  add_folder(app, "--cmake-dir", &cli::cmake_folder, "print the folder for CMake's scanloom_DIR");
  add_folder(app, "--include-dir", &cli::include_folder, "print the folder of the headers");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 fine, 1 results differ or check failed, 2 bad model, input or use,\n"
      "3 a limit was reached, 130 interrupted.\n"
      "'scanloom help COMMAND' shows the options of a command.\n\n"
      "Example: scanloom run model.onnx --feed x=input.npy --out result.npz");
  cli::add_run(app, status);
  cli::add_show(app, status);
  cli::add_explain(app, status);
  cli::add_report(app, status);
  cli::add_check(app, status);
  cli::add_bench(app, status);
  cli::add_compare(app, status);
  cli::add_convert(app, status);
  cli::add_batch(app, status);
  cli::add_version(app, status);
  if (argc == 1) std::cout << app.help();  // which the error then follows
  try {
    parse(app, argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version, --cmake-dir, --include-dir
    return app.exit(asked);
  } catch (const CLI::ParseError& wrong) {
    return refuse(app, wrong);
  }
  return status;
}

int run_and_report(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const scanloom::Failure& failure) {
    return scanloom::cli::report(failure.error());
  } catch (const std::bad_alloc&) {
    return scanloom::cli::report({scanloom::Code::out_of_memory, "the system is out of memory"});
  } catch (const std::exception& other) {
    return scanloom::cli::report({scanloom::Code::internal, other.what()});
  }
}

}  // namespace

int main(int argc, char** argv) {
  scanloom::cli::guard_stdout();
  return scanloom::cli::finish(run_and_report(argc, argv));
}
